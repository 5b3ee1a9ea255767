// Hostile values for the arguments of setters, and builds with them in child processes.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <limits>
#include <regex>
#include <set>

#include "fixture.h"

namespace setters {

// A value with the text that a failure shows.
template <typename T>
struct Shown {
  T value;
  std::string text;
};

constexpr int64_t kHuge = int64_t{1} << 62;
inline float someFloats[4096] = {1, 2, 3};

template <typename T>
std::vector<Shown<T>> numbers(std::initializer_list<T> values) {
  std::vector<Shown<T>> result;
  for (const T value : values) result.push_back({value, fmt::format("{}", value)});
  return result;
}

inline std::vector<Shown<nv::Dims>> hostileDims() {
  std::vector<Shown<nv::Dims>> result;
  for (const int32_t rank : {0, -1, 9, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    result.push_back({nv::Dims{rank, {}}, fmt::format("{} dimensions", rank)});
  }
  for (const int64_t extent : {int64_t{0}, int64_t{-1}, int64_t{std::numeric_limits<int32_t>::max()}, kHuge,
                               std::numeric_limits<int64_t>::min()}) {
    for (int32_t rank = 1; rank <= 4; ++rank) {
      nv::Dims dims{rank, {}};
      std::fill_n(dims.d, rank, extent);
      result.push_back({dims, fmt::format("{} dimensions of {}", rank, extent)});
    }
  }
  return result;
}

// All values that an argument of type T is tried with.
template <typename T>
std::vector<Shown<T>> hostile() {
  if constexpr (std::is_same_v<T, bool>) {
    return {{false, "false"}, {true, "true"}};
  } else if constexpr (std::is_enum_v<T>) {
    return {{static_cast<T>(-1), "-1"},
            {static_cast<T>(120), "120"},
            {static_cast<T>(std::numeric_limits<int32_t>::max()), "2^31-1"}};
  } else if constexpr (std::is_floating_point_v<T>) {
    return numbers<T>(
        {0, -1, std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(), static_cast<T>(3e38)});
  } else if constexpr (std::is_integral_v<T>) {
    auto result = numbers<T>({0, static_cast<T>(-1), static_cast<T>(std::numeric_limits<int32_t>::max()),
                              std::numeric_limits<T>::min(), std::numeric_limits<T>::max()});
    if constexpr (sizeof(T) == 8) result.push_back({static_cast<T>(kHuge), "2^62"});
    return result;
  } else if constexpr (std::is_same_v<T, nv::Dims>) {
    return hostileDims();
  } else if constexpr (std::is_same_v<T, nv::Permutation>) {
    std::vector<Shown<T>> result;
    for (const int32_t entry : {0, -1, 8, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
      nv::Permutation order{};
      std::fill(std::begin(order.order), std::end(order.order), entry);
      result.push_back({order, fmt::format("all {}", entry)});
    }
    return result;
  } else if constexpr (std::is_same_v<T, nv::Weights>) {
    const auto f32 = nv::DataType::kFLOAT;
    return {{{f32, nullptr, 0}, "none"},
            {{f32, nullptr, 5}, "5 at null"},
            {{f32, someFloats, -1}, "-1 of them"},
            {{f32, someFloats, kHuge}, "2^62 of them"},
            {{f32, someFloats, 0}, "0 of them"},
            {{f32, someFloats, std::numeric_limits<int64_t>::min()}, "-2^63 of them"},
            {{static_cast<nv::DataType>(99), someFloats, 4}, "type 99"},
            {{nv::DataType::kBOOL, someFloats, 8}, "8 of bool"}};
  } else if constexpr (std::is_same_v<T, const char*>) {
    static const std::string kLong(100000, 'n');
    return {{nullptr, "null"},
            {"", "nothing"},
            {"\n&&&& \x1b[2J", "control characters"},
            {kLong.c_str(), "100000 characters"}};
  } else {
    static_assert(std::is_pointer_v<T>);
    return {{nullptr, "null"}};
  }
}

// What the other arguments are meanwhile.
template <typename T>
T plain() {
  if constexpr (std::is_same_v<T, const char*>) {
    return "x";
  } else if constexpr (std::is_same_v<T, nv::Dims>) {
    return nv::Dims{2, {1, 1}};
  } else if constexpr (std::is_same_v<T, nv::Weights>) {
    return nv::Weights{nv::DataType::kFLOAT, nullptr, 0};
  } else {
    return T{};
  }
}

// A network, ready to be built, with the object whose setters are called.
struct Scene {
  KeptLog log;
  std::unique_ptr<nv::IBuilder> builder{nv::createInferBuilder(log)};
  std::unique_ptr<nv::IBuilderConfig> config{builder->createBuilderConfig()};
  std::unique_ptr<nv::INetworkDefinition> network{builder->createNetworkV2(0)};
  std::unique_ptr<nv::IRuntime> runtime{nv::createInferRuntime(log)};
  std::unique_ptr<nv::ICudaEngine> engine;
  std::unique_ptr<nv::IExecutionContext> context;

  nv::ITensor& input(const char* name, const std::vector<int64_t>& shape, nv::DataType type = nv::DataType::kFLOAT) {
    return *network->addInput(name, type, dims(shape));
  }
  void output(nv::ILayer& layer) {
    layer.getOutput(0)->setName("y");
    network->markOutput(*layer.getOutput(0));
  }
  nv::ITensor& ints(const std::vector<int64_t>& values) {
    static std::vector<std::unique_ptr<std::vector<int64_t>>> kept;
    kept.push_back(std::make_unique<std::vector<int64_t>>(values));
    const nv::Weights weights{nv::DataType::kINT64, kept.back()->data(), static_cast<int64_t>(values.size())};
    return *network->addConstant(dims({static_cast<int64_t>(values.size())}), weights)->getOutput(0);
  }
  static nv::Weights floats(int64_t count) { return {nv::DataType::kFLOAT, someFloats, count}; }
};

// Builds, loads and makes a context: a plan, or at least one error that says why there is none. Empty when that is so.
inline std::string build(Scene& scene) {
  for (const int level : {0, 1}) {
    scene.log.errors.clear();
    scene.config->setBuilderOptimizationLevel(level);
    const std::unique_ptr<nv::IHostMemory> plan(scene.builder->buildSerializedNetwork(*scene.network, *scene.config));
    if (plan == nullptr) {
      if (scene.log.errors.empty()) return "no plan and no error";
      continue;
    }
    const std::unique_ptr<nv::ICudaEngine> engine(scene.runtime->deserializeCudaEngine(plan->data(), plan->size()));
    if (engine == nullptr)
      return "a plan was built and not loaded: " + fmt::format("{}", fmt::join(scene.log.errors, "; "));
    const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
    if (context == nullptr && scene.log.errors.empty()) return "no context and no error";
  }
  return {};
}

// Runs the body in a child process; empty when it returned an empty text, else what it returned or how it ended.
inline std::string inChild(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const rlimit memory{rlim_t{3} << 30, rlim_t{3} << 30};  // touching more takes a busy machine too long
    const rlimit core{0, 0};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CORE, &core);
    alarm(30);
    const std::string text = body();
    const auto wrote = write(ends[1], text.data(), std::min<size_t>(text.size(), 4000));
    _exit(wrote < 0 ? 1 : 0);
  }
  close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t got = read(ends[0], piece, sizeof(piece)); got > 0; got = read(ends[0], piece, sizeof(piece))) {
    text.append(piece, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    return WTERMSIG(status) == SIGALRM ? "it did not end within 30 s"
                                       : fmt::format("it was killed by signal {}", WTERMSIG(status));
  }
  return WEXITSTATUS(status) == 0 ? text : "it ended with status " + std::to_string(WEXITSTATUS(status));
}

// Calls `body`, which returns what is wrong, with each hostile value of T, in a child process each.
template <typename T>
void eachValue(const std::string& what, const std::function<std::string(const T&)>& body) {
  for (const auto& value : hostile<T>()) {
    EXPECT_EQ(inChild([&] { return body(value.value); }), "") << what << ": " << value.text;
  }
}

// Calls one setter with every hostile value of each of its arguments in turn, and builds.
template <typename Object, typename Result, typename... Arguments>
void walk(const char* name, Result (Object::*setter)(Arguments...) noexcept, Object* (*make)(Scene&),
          std::string (*after)(Scene&) = &build) {
  const auto vary = [&]<size_t kAt>(std::integral_constant<size_t, kAt>) {
    using Varied = std::decay_t<std::tuple_element_t<kAt, std::tuple<Arguments...>>>;
    eachValue<Varied>(fmt::format("{}, argument {}", name, kAt), [&](const Varied& value) -> std::string {
      Scene scene;
      Object* object = make(scene);
      if (object == nullptr || !scene.log.errors.empty()) return "the network as it was is wrong";
      std::tuple<std::decay_t<Arguments>...> arguments{plain<std::decay_t<Arguments>>()...};
      std::get<kAt>(arguments) = value;
      std::apply([&](auto&... all) { (object->*setter)(all...); }, arguments);
      return after(scene);
    });
  };
  const auto all = [&]<size_t... kAll>(std::index_sequence<kAll...>) {
    (vary(std::integral_constant<size_t, kAll>{}), ...);
  };
  all(std::index_sequence_for<Arguments...>{});
}

// All matches of the expression's groups 1 and 2 in a file, as "first::second".
inline std::set<std::string> named(const std::string& path, const std::string& expression) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::regex pattern(expression);
  std::set<std::string> result;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    result.insert((*at)[1].str() + "::" + (*at)[2].str());
  }
  return result;
}

// "IClass::function" for each function of the interface with such a name, of classes whose objects a caller holds.
inline std::set<std::string> interfaceFunctions(const std::regex& names) {
  // Of DistCollective no object is made; other functions are another name of one that ILayer has.
  const std::regex elsewhere("IDistCollectiveLayer::.*|I\\w+::(setInput|setNbRanks)");
  const std::regex owner(
      "^  \"nvinfer1::(I\\w*Layer|IAttention|ITensor|IBuilder|IBuilderConfig|IOptimizationProfile|INetworkDefinition|IRuntime|ICudaEngine|"
      "IExecutionContext)\":");
  const std::regex function("^      \\[\"(\\w+)\",");
  std::ifstream table(TENON_LAYOUT_FILE);
  EXPECT_TRUE(table.is_open()) << TENON_LAYOUT_FILE;
  std::set<std::string> result;
  std::string current;
  for (std::string line; std::getline(table, line);) {
    std::smatch match;
    if (line.rfind("  \"", 0) == 0) current = std::regex_search(line, match, owner) ? match[1].str() : "";
    if (current.empty() || !std::regex_search(line, match, function)) continue;
    const std::string what = match[1].str();
    const std::string name = current + "::" + what;
    if (!std::regex_match(what, names) || (current != "ILayer" && std::regex_match(name, elsewhere))) continue;
    result.insert(name);
  }
  return result;
}

}  // namespace setters
