#include "src/node/mig/geometry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "testing/status_matchers.h"

namespace kgpu::mig {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The geometry again, from the user guide's tables, as the brute force below reads it.
struct Row {
  std::string name;  // "1g": without memory, which differs between models
  unsigned size;
  std::vector<unsigned> starts;
  unsigned most;
  unsigned decoders;
  unsigned jpegs;
  unsigned ofas;
};
struct Chip {
  std::string name;
  std::vector<uint16_t> ids;
  unsigned memory_slices;
  std::vector<Row> rows;
};

std::vector<Chip> Chips() {
  const std::vector<unsigned> every = {0, 1, 2, 3, 4, 5, 6};
  const std::vector<unsigned> quarter = {0, 1, 2, 3};
  return {{"A100",
           {0x20b0, 0x20b1, 0x20f1, 0x20f6, 0x20b2, 0x20b5, 0x20f3, 0x20f5},
           8,
           {{"7g", 8, {0}, 1, 5, 1, 1},
            {"4g", 4, {0}, 1, 2, 0, 0},
            {"3g", 4, {0, 4}, 2, 2, 0, 0},
            {"2g", 2, {0, 2, 4}, 3, 1, 0, 0},
            {"1g double", 2, {0, 2, 4, 6}, 4, 1, 0, 0},
            {"1g", 1, every, 7, 0, 0, 0},
            {"1g+me", 1, every, 1, 1, 1, 1}}},
          {"H100, H200, B200 and relatives",
           {0x2330, 0x2331, 0x2322, 0x2324, 0x2335, 0x233b, 0x2901, 0x2321, 0x233a, 0x2342, 0x233d,
            0x20b6, 0x2329, 0x2348, 0x2941, 0x3182, 0x31c2},
           8,
           {{"7g", 8, {0}, 1, 7, 7, 1},
            {"4g", 4, {0}, 1, 4, 4, 0},
            {"3g", 4, {0, 4}, 2, 3, 3, 0},
            {"2g", 2, {0, 2, 4}, 3, 2, 2, 0},
            {"1g double", 2, {0, 2, 4, 6}, 4, 1, 1, 0},
            {"1g", 1, every, 7, 1, 1, 0},
            {"1g+me", 1, every, 1, 1, 1, 1}}},
          {"A30",
           {0x20b7},
           4,
           {{"4g", 4, {0}, 1, 4, 1, 1},
            {"2g", 2, {0, 2}, 2, 2, 0, 0},
            {"2g+me", 2, {0, 2}, 1, 2, 1, 1},
            {"1g", 1, quarter, 4, 0, 0, 0},
            {"1g+me", 1, quarter, 1, 1, 1, 1}}},
          {"RTX PRO 6000",
           {0x2bb5},
           4,
           {{"4g", 4, {0}, 1, 4, 4, 1},
            {"4g+gfx", 4, {0}, 1, 4, 4, 1},
            {"2g", 2, {0, 2}, 2, 2, 2, 0},
            {"2g+gfx", 2, {0, 2}, 2, 2, 2, 0},
            {"2g+me.all", 2, {0, 2}, 1, 4, 4, 1},
            {"2g-me", 2, {0, 2}, 2, 0, 0, 0},
            {"1g", 1, quarter, 4, 1, 1, 0},
            {"1g+me", 1, quarter, 1, 1, 1, 1},
            {"1g+gfx", 1, quarter, 4, 1, 1, 0},
            {"1g+me.all", 1, quarter, 1, 4, 4, 1},
            {"1g-me", 1, quarter, 4, 0, 0, 0}}}};
}

// Counts layouts slice by slice, from the first one on: each is left empty or begins an instance.
class BruteForce {
 public:
  explicit BruteForce(const Chip& chip) : chip_(chip) { Go(0); }

  size_t layouts() const { return layouts_.size(); }
  size_t maximal() const {
    return static_cast<size_t>(std::ranges::count_if(layouts_, [&](const auto& layout) {
      for (size_t row = 0; row < chip_.rows.size(); ++row) {
        for (const unsigned start : chip_.rows[row].starts) {
          auto more = layout;
          if (more.emplace(start, row).second && layouts_.contains(more)) {
            return false;
          }
        }
      }
      return true;
    }));
  }

 private:
  using Instances = std::map<unsigned, size_t>;  // row by start

  bool IsWithinLimits() const {
    std::vector<unsigned> counts(chip_.rows.size());
    unsigned decoders = 0;
    unsigned jpegs = 0;
    unsigned ofas = 0;
    for (const auto& [start, row] : now_) {
      decoders += chip_.rows[row].decoders;
      jpegs += chip_.rows[row].jpegs;
      ofas += chip_.rows[row].ofas;
      if (++counts[row] > chip_.rows[row].most) {
        return false;
      }
    }
    const Row& whole = chip_.rows.front();
    return decoders <= whole.decoders && jpegs <= whole.jpegs && ofas <= whole.ofas;
  }

  void Go(unsigned slice) {
    if (slice >= chip_.memory_slices) {
      if (IsWithinLimits()) {
        layouts_.insert(now_);
      }
      return;
    }
    Go(slice + 1);
    for (size_t row = 0; row < chip_.rows.size(); ++row) {
      if (std::ranges::count(chip_.rows[row].starts, slice) > 0) {
        now_[slice] = row;
        Go(slice + chip_.rows[row].size);
        now_.erase(slice);
      }
    }
  }

  const Chip& chip_;
  Instances now_;
  std::set<Instances> layouts_;
};

TEST(GeometryTest, EnumeratesTheLayoutsThatABruteForceFinds) {
  // All layouts, and the maximal ones.
  const std::map<std::string, std::pair<size_t, size_t>> known = {
      {"A100", {2319, 239}},
      {"H100, H200, B200 and relatives", {2319, 239}},
      {"A30", {76, 17}},
      {"RTX PRO 6000", {717, 302}}};
  size_t models = 0;
  for (const Chip& chip : Chips()) {
    const BruteForce brute(chip);
    EXPECT_EQ(brute.layouts(), known.at(chip.name).first) << chip.name;
    EXPECT_EQ(brute.maximal(), known.at(chip.name).second) << chip.name;
    for (const uint16_t id : chip.ids) {
      ++models;
      const auto geometry = Geometry::OfModel(id);
      ASSERT_OK(geometry) << id;
      const std::vector<Layout> all = geometry->AllLayouts();
      EXPECT_EQ(all.size(), brute.layouts()) << chip.name << " " << id;
      EXPECT_EQ(std::set<Layout>(all.begin(), all.end()).size(), all.size());
      EXPECT_EQ(geometry->MaximalLayouts().size(), brute.maximal()) << chip.name << " " << id;
    }
  }
  size_t in_table = 0;
  for (const device::MigModel& model : device::MigModels()) {
    in_table += model.pci_device_ids.size();
  }
  EXPECT_EQ(models, in_table);
}

TEST(GeometryTest, EveryEnumeratedLayoutIsLegalAndMaximalOnesTakeNothingMore) {
  const auto geometry = Geometry::OfModel(0x20b2);
  ASSERT_OK(geometry);
  for (const Layout& layout : geometry->AllLayouts()) {
    EXPECT_OK(geometry->Check(layout));
  }
  for (const Layout& layout : geometry->MaximalLayouts()) {
    const Taken taken = geometry->TakenBy(layout);
    for (size_t profile = 0; profile < geometry->profiles().size(); ++profile) {
      EXPECT_THAT(geometry->FreeStarts(taken, profile), IsEmpty());
    }
  }
}

// Without the profiles that came later, one can count by hand: all of it, or six ways for the first
// half (4g, 3g, and 2g or twice 1g in each quarter) times three for the second.
TEST(GeometryTest, HasTheCombinationsThatOneCountsByHand) {
  std::vector<device::MigProfile> plain;
  for (device::MigProfile& profile : device::MigProfiles(0x20b0)) {
    if (profile.name != "1g.5gb+me" && profile.name != "1g.10gb") {
      plain.push_back(std::move(profile));
    }
  }
  const auto geometry = Geometry::Create(std::move(plain));
  ASSERT_OK(geometry);
  EXPECT_EQ(geometry->MaximalLayouts().size(), 1U + 6 * 3);
}

TEST(GeometryTest, SaysWhyALayoutIsNotLegal) {
  const auto geometry = Geometry::OfModel(0x20b2);
  ASSERT_OK(geometry);
  const size_t half = geometry->Find("3g.40gb").value_or(99);
  const size_t first_half = geometry->Find("4g.40gb").value_or(99);
  const size_t media = geometry->Find("1g.10gb+me").value_or(99);
  ASSERT_LT(half, 99U);
  const auto text = [&](const Layout& layout) {
    return std::string(Message(geometry->Check(layout)));
  };
  EXPECT_THAT(text({{half, 2}}),
              HasSubstr("3g.40gb cannot start at memory slice 2: it starts at 0, 4"));
  EXPECT_THAT(text({{first_half, 0}, {half, 0}}), HasSubstr("overlaps another instance"));
  EXPECT_THAT(text({{media, 0}, {media, 1}}), HasSubstr("1g.10gb+me: a GPU has at most 1"));
  EXPECT_OK(geometry->Check(Layout{{first_half, 0}, {half, 4}}));
}

TEST(GeometryTest, MediaEnginesLimitTheVariants) {
  const auto geometry = Geometry::OfModel(0x2bb5);
  ASSERT_OK(geometry);
  const size_t all_media = geometry->Find("1g.24gb+me.all").value_or(99);
  const size_t plain = geometry->Find("1g.24gb").value_or(99);
  const size_t none = geometry->Find("1g.24gb-me").value_or(99);
  ASSERT_LT(all_media, 99U);
  EXPECT_THAT(Message(geometry->Check(Layout{{all_media, 0}, {plain, 1}})),
              HasSubstr("too few slices or media engines"));
  EXPECT_OK(geometry->Check(Layout{{all_media, 0}, {none, 1}, {none, 2}, {none, 3}}));
}

TEST(GeometryTest, FindsTheFreeStarts) {
  const auto geometry = Geometry::OfModel(0x2330);
  ASSERT_OK(geometry);
  const size_t half = geometry->Find("3g.40gb").value_or(0);
  Taken taken;
  EXPECT_THAT(geometry->FreeStarts(taken, half), ElementsAre(0, 4));
  geometry->Take(taken, {.profile = half, .start = 4});
  EXPECT_THAT(geometry->FreeStarts(taken, half), ElementsAre(0));
  geometry->Take(taken, {.profile = half, .start = 0});
  EXPECT_THAT(geometry->FreeStarts(taken, half), IsEmpty());
  geometry->Free(taken, {.profile = half, .start = 0});
  EXPECT_THAT(geometry->FreeStarts(taken, half), ElementsAre(0));
}

TEST(GeometryTest, MeasuresTheRoomThatIsLeft) {
  const auto geometry = Geometry::OfModel(0x20b2);
  ASSERT_OK(geometry);
  const auto room = [&](const Layout& layout) { return geometry->Room(geometry->TakenBy(layout)); };
  const size_t small = geometry->Find("1g.10gb").value_or(0);
  EXPECT_EQ(room({}), (1ULL << 30) | (2ULL << 20) | (4ULL << 10) | 7);
  EXPECT_EQ(room({{small, 6}}), (1ULL << 20) | (3ULL << 10) | 6);
  EXPECT_GT(room({{small, 6}}), room({{small, 0}, {small, 6}}));
}

TEST(GeometryTest, RefusesImpossibleProfiles) {
  EXPECT_THAT(Geometry::OfModel(0x1eb8).status(),
              StatusIs(StatusCode::kNotFound, HasSubstr("0x1eb8")));
  EXPECT_FALSE(Geometry::Create({}).ok());
  device::MigProfile odd;
  odd.name = "1g.1gb";
  odd.memory_slices = 8;
  odd.starts = {30};
  odd.max_instances = 1;
  EXPECT_THAT(Geometry::Create({odd}).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("1g.1gb")));
  odd.starts = {};
  EXPECT_FALSE(Geometry::Create({odd}).ok());
}

TEST(GeometryTest, KnowsTheSizesOfComputeInstances) {
  EXPECT_THAT(ComputeSizes(7), ElementsAre(1, 2, 3, 4, 7));
  EXPECT_THAT(ComputeSizes(4), ElementsAre(1, 2, 4));
  EXPECT_THAT(ComputeSizes(3), ElementsAre(1, 2, 3));
  EXPECT_THAT(ComputeSizes(1), ElementsAre(1));
}

}  // namespace
}  // namespace kgpu::mig
