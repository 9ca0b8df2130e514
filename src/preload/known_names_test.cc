// The tables of names, against each other.
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace kgpu::preload {
namespace {

const std::vector<std::string> kNames = {
#include "src/preload/known_names.inc"
};

struct Row {
  std::string name;
  std::string base;
  int since;
  int is_per_thread;
};
const std::vector<Row> kRows = {
#define KGPU_HOOK(name, base, since, is_per_thread) {#name, #base, since, is_per_thread},
#include "src/preload/hooks.inc"
#undef KGPU_HOOK
};

std::string WithoutVersion(std::string name) {
  const size_t at = name.rfind("_v");
  const bool is_version =
      at != std::string::npos && at + 2 < name.size() &&
      std::all_of(name.begin() + static_cast<long>(at) + 2, name.end(),
                  [](unsigned char letter) { return std::isdigit(letter) != 0; });
  return is_version ? name.substr(0, at) : name;
}

TEST(KnownNamesTest, AreSortedAndUnique) {
  EXPECT_TRUE(std::is_sorted(kNames.begin(), kNames.end()));
  EXPECT_EQ(std::set<std::string>(kNames.begin(), kNames.end()).size(), kNames.size());
  EXPECT_GT(kNames.size(), 500U);
}

TEST(KnownNamesTest, HaveEveryFunctionWithAStandIn) {
  for (const Row& row : kRows) {
    EXPECT_TRUE(std::binary_search(kNames.begin(), kNames.end(), row.base)) << row.base;
  }
}

// A version without a stand-in would be a way around the others.
TEST(KnownNamesTest, HaveNoVersionOfAFunctionThatPassesByItsStandIn) {
  std::set<std::string> names;
  std::set<std::string> bases;
  for (const Row& row : kRows) {
    names.insert(row.name);
    bases.insert(row.base);
  }
  for (const std::string& name : kNames) {
    if (bases.contains(WithoutVersion(name))) {
      EXPECT_TRUE(names.contains(name)) << name;
    }
  }
}

TEST(KnownNamesTest, RowsOfOneFunctionGoFromOldToNew) {
  std::map<std::string, int> last;
  for (const Row& row : kRows) {
    if (row.is_per_thread == 0) {
      EXPECT_GE(row.since, last[row.base]) << row.name;
      last[row.base] = row.since;
    }
  }
}

}  // namespace
}  // namespace kgpu::preload
