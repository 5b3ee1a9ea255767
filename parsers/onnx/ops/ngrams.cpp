// TfIdfVectorizer over integers: n-grams are found by comparing all places of the input with the whole pool.
#include <algorithm>

#include "operator_table.h"

namespace tenon::parsers::onnx::ops_ngrams {
namespace {

constexpr int64_t kMostComparisons = 1 << 24;

struct Pool {
  std::vector<int64_t> items;
  std::vector<int64_t> starts;  // by length, less one
  std::vector<int64_t> places;  // in the output, by n-gram
  int64_t size = 0;             // of the output
};

Pool readPool(const OnnxNode& node) {
  if (node.has("pool_strings")) {
    fail(FaultKind::kUnsupportedAttribute, "pool_strings: tensors have no strings; map words to integers before");
  }
  Pool pool{node.integers("pool_int64s"), node.integers("ngram_counts"), node.integers("ngram_indexes"), 0};
  const auto items = static_cast<int64_t>(pool.items.size());
  int64_t before = 0;
  for (const int64_t start : pool.starts) {
    if (start < before || start > items) {
      fail(FaultKind::kInvalidNode,
           fmt::format("ngram_counts has {} behind {}; expected starts within {} items, in order", start, before,
                       items));
    }
    before = start;
  }
  std::vector<int64_t> sorted = pool.places;
  std::sort(sorted.begin(), sorted.end());
  if (pool.starts.empty() || sorted.empty() || sorted.front() < 0 || sorted.back() > INT32_MAX ||
      std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    fail(FaultKind::kInvalidNode,
         "ngram_indexes and ngram_counts: expected one place of 0 or more for each n-gram, each once");
  }
  pool.size = sorted.back() + 1;
  return pool;
}

// How often the n-grams of one length stand in rows [N, C], with `skip` items left out between neighbours: [N, count].
Term countsOf(const Term& rows, const std::vector<int64_t>& grams, int64_t length, int64_t skip) {
  NetworkWriter& writer = rows.writer();
  const auto count = static_cast<int64_t>(grams.size()) / length;
  const int64_t places = rows.fixedDim(1, "the number of items") - (length - 1) * (skip + 1);
  std::optional<Term> found;
  for (int64_t k = 0; k < length; ++k) {
    std::vector<int64_t> column;
    for (int64_t i = 0; i < count; ++i) {
      column.push_back(grams[static_cast<size_t>(i * length + k)]);
    }
    const Term wanted = integers(writer, rows.type(), {1, 1, count}, column);
    const Term same = equal(rows.slice(1, k * (skip + 1), places).unsqueeze({2}), wanted);
    found = found ? both(*found, same) : same;
  }
  return found->cast(DataType::kFLOAT).sum({1}, false);
}

ParsedValues importTfIdfVectorizer(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const std::string mode = node.choice("mode", "", {"TF", "IDF", "TFIDF"});
  const int64_t least = node.integer("min_gram_length", 1);
  const int64_t most = node.integer("max_gram_length", 1);
  const int64_t skips = node.integer("max_skip_count", 0);
  const Pool pool = readPool(node);
  const Term x = node.term(0);
  if (x.rank() < 1 || x.rank() > 2 || least < 1 || most < least || skips < 0) {
    fail(FaultKind::kInvalidNode,
         fmt::format(
             "rank {}, n-grams of {} to {} items, {} skipped at most; expected rank 1 or 2, lengths of 1 or more",
             x.rank(), least, most, skips));
  }
  const Term rows = (x.rank() == 1 ? x.unsqueeze({0}) : x).cast(DataType::kINT64);
  const int64_t items = rows.fixedDim(1, "the number of items");
  if (items * static_cast<int64_t>(pool.items.size()) * (skips + 1) > kMostComparisons) {
    fail(FaultKind::kUnsupportedShape, fmt::format("{} items are compared with a pool of {}, {} times; expected {} "
                                                   "comparisons at most",
                                                   items, pool.items.size(), skips + 1, kMostComparisons));
  }
  const Term none = reals(writer, DataType::kFLOAT, {1, 1}, {0}).expand({rows.dim(0), ParsedExtent::of(1)});
  std::vector<Term> parts;
  for (int64_t length = 1; length <= static_cast<int64_t>(pool.starts.size()); ++length) {
    const auto begin = pool.items.begin() + pool.starts[static_cast<size_t>(length - 1)];
    const auto end = length < static_cast<int64_t>(pool.starts.size())
                         ? pool.items.begin() + pool.starts[static_cast<size_t>(length)]
                         : pool.items.end();
    const std::vector<int64_t> grams(begin, end - (end - begin) % length);
    if (grams.empty()) {
      continue;
    }
    Term counts = none.expand({rows.dim(0), ParsedExtent::of(static_cast<int64_t>(grams.size()) / length)});
    for (int64_t skip = 0; length >= least && length <= most && skip <= (length == 1 ? 0 : skips); ++skip) {
      if (items > (length - 1) * (skip + 1)) {
        counts = counts + countsOf(rows, grams, length, skip);
      }
    }
    parts.push_back(counts);
  }
  int64_t count = 0;
  for (const Term& part : parts) {
    count += part.shape().back();
  }
  const std::vector<float> weights = node.reals("weights");
  if (count != static_cast<int64_t>(pool.places.size()) || (!weights.empty() && weights.size() != pool.places.size())) {
    fail(FaultKind::kInvalidNode,
         fmt::format("the pool has {} n-grams, ngram_indexes {} and weights {}; expected one each", count,
                     pool.places.size(), weights.size()));
  }
  // Each place of the output reads its n-gram, those without one the zero behind all.
  std::vector<int64_t> order(static_cast<size_t>(pool.size), count);
  std::vector<double> factors(order.size(), 1);
  for (size_t i = 0; i < pool.places.size(); ++i) {
    order[static_cast<size_t>(pool.places[i])] = static_cast<int64_t>(i);
    if (!weights.empty()) {
      factors[static_cast<size_t>(pool.places[i])] = static_cast<double>(weights[i]);
    }
  }
  parts.push_back(none);
  Term y = concat(parts, 1).gather(integers(writer, DataType::kINT64, {pool.size}, order), 1);
  if (mode == "IDF") {
    y = where(y > 0.0, y.number(1), y.number(0));
  }
  if (mode != "TF") {
    y = y * reals(writer, DataType::kFLOAT, {1, pool.size}, factors);
  }
  return {x.rank() == 1 ? y.squeeze({0}) : y};
}

const OperatorImporter kRows[] = {
    {"TfIdfVectorizer", 9, kNewestOpset, importTfIdfVectorizer,
     "addElementWise, addReduce, addGather; pool_int64s, a fixed number of items"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_ngrams
