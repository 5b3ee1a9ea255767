// Sizes of structures and values of enumerators, as one set of headers declares them.
#pragma once

#include <map>
#include <string>

namespace hostcuda_test {

using Facts = std::map<std::string, long>;

Facts ownFacts();
Facts toolkitFacts();  // empty without the toolkit's headers

}  // namespace hostcuda_test
