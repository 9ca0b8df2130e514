#include "src/node/mig/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "testing/status_matchers.h"

namespace kgpu::mig {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint16_t kA100 = 0x20b2;
constexpr uint16_t kA30 = 0x20b7;
constexpr uint16_t kRtx = 0x2bb5;

std::shared_ptr<const Geometry> GeometryOf(uint16_t id) {
  auto geometry = Geometry::OfModel(id);
  EXPECT_OK(geometry);
  return std::make_shared<const Geometry>(*std::move(geometry));
}

// "3g.40gb@4:idle,…", as in a list.
std::vector<Instance> InstancesOf(const std::string& text) {
  std::vector<Instance> instances;
  const auto entries = ParseEntries(text);
  EXPECT_OK(entries);
  for (const Entry& entry : entries.value_or(std::vector<Entry>{})) {
    instances.push_back({.kind = {.profile = entry.profile, .compute = {}},
                         .start = entry.start.value_or(0),
                         .use = entry.use});
  }
  return instances;
}

GpuState GpuWith(std::shared_ptr<const Geometry> geometry, const std::string& instances) {
  return {.id = "0", .geometry = std::move(geometry), .instances = InstancesOf(instances)};
}

std::vector<Demand> DemandOf(const std::string& text) {
  const auto entries = ParseEntries(text);
  EXPECT_OK(entries);
  const auto demands = DemandsOf(entries.value_or(std::vector<Entry>{}));
  EXPECT_OK(demands);
  return demands.value_or(std::vector<Demand>{});
}

std::string TextOf(const std::vector<Instance>& instances) {
  std::vector<std::string> words;
  for (const Instance& instance : instances) {
    words.push_back(fmt::format("{}@{}", KindText(instance.kind), instance.start));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

Plan PlanOrDie(const std::vector<GpuState>& gpus, const std::vector<Demand>& demand) {
  const auto plan = PlanDemand(gpus, demand);
  EXPECT_OK(plan);
  return plan.value_or(Plan{});
}

TEST(PlanDemandTest, UsesIdleInstancesBeforeItChangesAnything) {
  const auto geometry = GeometryOf(kA100);
  const Plan plan =
      PlanOrDie({GpuWith(geometry, "3g.40gb@0:idle,3g.40gb@4:used")}, DemandOf("3g.40gb"));
  EXPECT_TRUE(plan.is_feasible);
  EXPECT_TRUE(plan.is_proven);
  EXPECT_THAT(plan.changes, IsEmpty());
}

TEST(PlanDemandTest, FillsFreeSpaceBeforeItDestroys) {
  const auto geometry = GeometryOf(kA100);
  const Plan plan = PlanOrDie(
      {GpuWith(geometry, "3g.40gb@0:idle,3g.40gb@4:idle"), GpuWith(geometry, "1g.10gb@6:used")},
      DemandOf("4g.40gb"));
  ASSERT_TRUE(plan.is_feasible);
  ASSERT_THAT(plan.changes, SizeIs(1));
  EXPECT_EQ(plan.changes[0].gpu, 1U);
  EXPECT_EQ(TextOf(plan.changes[0].create), "4g.40gb@0");
  EXPECT_EQ(TextOf(plan.changes[0].layout), "4g.40gb@0 1g.10gb@6");
}

TEST(PlanDemandTest, KeepsRoomForLargeProfiles) {
  const auto geometry = GeometryOf(kA100);
  // At 6, beside the one at 5: the first half stays whole.
  const Plan plan = PlanOrDie({GpuWith(geometry, "1g.10gb@5:used")}, DemandOf("1g.10gb"));
  ASSERT_THAT(plan.changes, SizeIs(1));
  EXPECT_EQ(TextOf(plan.changes[0].create), "1g.10gb@4");
}

TEST(PlanDemandTest, DestroysTheFewestIdleInstances) {
  const auto geometry = GeometryOf(kA100);
  const Plan plan =
      PlanOrDie({GpuWith(geometry, "1g.10gb@0:idle,1g.10gb@1:idle,1g.10gb@2:idle,3g.40gb@4:idle")},
                DemandOf("3g.40gb,2g.20gb"));
  ASSERT_THAT(plan.changes, SizeIs(1));
  EXPECT_EQ(plan.destroyed, 1U);
  EXPECT_EQ(TextOf(plan.changes[0].destroy), "1g.10gb@2");
  EXPECT_EQ(TextOf(plan.changes[0].create), "2g.20gb@2");
}

TEST(PlanDemandTest, MovesUsersOnlyWhereItMay) {
  const auto geometry = GeometryOf(kA100);
  const std::vector<Demand> demand = DemandOf("4g.40gb");
  const Plan fixed = PlanOrDie({GpuWith(geometry, "1g.10gb@2:used")}, demand);
  EXPECT_FALSE(fixed.is_feasible);
  EXPECT_TRUE(fixed.is_proven);
  EXPECT_EQ(fixed.reason,
            "1 GPU can hold 0 x 4g.40gb, not 1; 1 instance is in use and "
            "stays");
  const Plan moved = PlanOrDie({GpuWith(geometry, "1g.10gb@2:movable")}, demand);
  ASSERT_TRUE(moved.is_feasible);
  EXPECT_EQ(moved.evicted, 1U);
  // The one that must move is created again.
  EXPECT_EQ(TextOf(moved.changes[0].layout), "4g.40gb@0 1g.10gb@6");
}

TEST(PlanDemandTest, LeavesGpusAloneThatMayNotChange) {
  const auto geometry = GeometryOf(kA100);
  std::vector<GpuState> gpus = {GpuWith(geometry, ""), GpuWith(geometry, "")};
  gpus[0].may_change = false;
  const Plan plan = PlanOrDie(gpus, DemandOf("7g.80gb"));
  ASSERT_THAT(plan.changes, SizeIs(1));
  EXPECT_EQ(plan.changes[0].gpu, 1U);
}

TEST(PlanDemandTest, PrefersGpusWithMigOn) {
  const auto geometry = GeometryOf(kA100);
  std::vector<GpuState> gpus = {GpuWith(geometry, ""), GpuWith(geometry, "")};
  gpus[0].is_mig_enabled = false;
  const Plan one = PlanOrDie(gpus, DemandOf("7g.80gb"));
  ASSERT_THAT(one.changes, SizeIs(1));
  EXPECT_EQ(one.changes[0].gpu, 1U);
  const Plan two = PlanOrDie(gpus, DemandOf("2x7g.80gb"));
  ASSERT_THAT(two.changes, SizeIs(2));
  EXPECT_TRUE(two.changes[0].enables_mig);
  EXPECT_FALSE(two.changes[1].enables_mig);
}

TEST(PlanDemandTest, SaysWhyNothingFits) {
  const auto geometry = GeometryOf(kA100);
  const std::vector<GpuState> gpus = {GpuWith(geometry, "")};
  const auto why = [&](const std::string& demand) {
    const Plan plan = PlanOrDie(gpus, DemandOf(demand));
    EXPECT_FALSE(plan.is_feasible) << demand;
    EXPECT_TRUE(plan.is_proven) << demand;
    return plan.reason;
  };
  EXPECT_EQ(why("8x1g.10gb"), "1 GPU can hold 7 x 1g.10gb, not 8");
  EXPECT_EQ(why("1g.5gb"), "1 GPU can hold 0 x 1g.5gb, not 1");
  EXPECT_EQ(why("4g.40gb,3g.40gb,1g.10gb"),
            "the profiles need 9 memory slices; 1 GPU can provide 8");
  EXPECT_EQ(why("3x2g.20gb,1g.10gb,1g.10gb+me"),
            "each profile fits, but no placement on 1 GPU holds them together");
  EXPECT_EQ(PlanOrDie({}, DemandOf("1g.10gb")).reason, "there is no GPU with MIG");
}

TEST(PlanDemandTest, RefusesWhatItCannotCount) {
  const auto geometry = GeometryOf(kA100);
  EXPECT_THAT(
      PlanDemand(std::vector<GpuState>{GpuWith(geometry, "")}, DemandOf("128x1g.10gb")).status(),
      StatusIs(StatusCode::kOutOfRange, HasSubstr("128 instances of 1g.10gb")));
  EXPECT_THAT(
      PlanDemand(std::vector<GpuState>{GpuWith(geometry, "3g.40gb@0,1g.10gb@2")}, {}).status(),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("GPU 0: its present layout: 1g.10gb")));
}

// What the planner minimises, computed from the layouts alone.
using Score = std::tuple<unsigned, unsigned, unsigned, unsigned, uint64_t>;

bool Contains(const std::vector<Instance>& instances, const Instance& one) {
  return std::ranges::any_of(instances, [&](const Instance& other) {
    return other.kind == one.kind && other.start == one.start;
  });
}

Score ScoreOf(const std::vector<GpuState>& gpus,
              const std::vector<std::vector<Instance>>& layouts) {
  Score score{};
  uint64_t room = 0;
  for (size_t i = 0; i < gpus.size(); ++i) {
    bool is_change = layouts[i].size() != gpus[i].instances.size();
    Layout layout;
    for (const Instance& instance : layouts[i]) {
      layout.push_back({gpus[i].geometry->Find(instance.kind.profile).value_or(0), instance.start});
    }
    for (const Instance& instance : gpus[i].instances) {
      if (!Contains(layouts[i], instance)) {
        is_change = true;
        ++std::get<1>(score);
        std::get<0>(score) += instance.use == Use::kMovable ? 1 : 0;
      }
    }
    std::get<2>(score) += is_change && !gpus[i].is_mig_enabled ? 1 : 0;
    std::get<3>(score) += is_change ? 1 : 0;
    room += gpus[i].geometry->Room(gpus[i].geometry->TakenBy(layout));
  }
  std::get<4>(score) = ~room;
  return score;
}

bool Covers(const std::vector<GpuState>& gpus, const std::vector<std::vector<Instance>>& layouts,
            const std::vector<Demand>& demand) {
  std::map<Kind, int> left;
  for (const Demand& wanted : demand) {
    left[wanted.kind] += static_cast<int>(wanted.count);
  }
  for (size_t i = 0; i < gpus.size(); ++i) {
    for (const Instance& instance : gpus[i].instances) {
      const bool is_there = Contains(layouts[i], instance);
      if (instance.use == Use::kFixed && !is_there) {
        return false;
      }
      left[instance.kind] += instance.use == Use::kMovable ? 1 : 0;
      left[instance.kind] += instance.use == Use::kFixed ? 1 : 0;
    }
    for (const Instance& instance : layouts[i]) {
      --left[instance.kind];
    }
  }
  return std::ranges::all_of(left, [](const auto& entry) { return entry.second <= 0; });
}

// Every layout of every GPU with every layout of the others.
class EveryLayout {
 public:
  EveryLayout(const std::vector<GpuState>& gpus, const std::vector<Demand>& demand)
      : gpus_(gpus), demand_(demand), now_(gpus.size()) {
    for (const GpuState& gpu : gpus) {
      std::vector<std::vector<Instance>> layouts;
      for (const Layout& layout : gpu.geometry->AllLayouts()) {
        std::vector<Instance> instances;
        for (const Placement& placement : layout) {
          instances.push_back({.kind = {.profile = gpu.geometry->profile(placement).name},
                               .start = placement.start});
        }
        layouts.push_back(std::move(instances));
      }
      layouts_.push_back(std::move(layouts));
    }
    Go(0);
  }
  const std::optional<Score>& best() const { return best_; }

 private:
  void Go(size_t gpu) {
    if (gpu == gpus_.size()) {
      if (Covers(gpus_, now_, demand_)) {
        const Score score = ScoreOf(gpus_, now_);
        best_ = best_ ? std::min(*best_, score) : score;
      }
      return;
    }
    for (const auto& layout : layouts_[gpu]) {
      now_[gpu] = layout;
      Go(gpu + 1);
    }
  }

  const std::vector<GpuState>& gpus_;
  const std::vector<Demand>& demand_;
  std::vector<std::vector<std::vector<Instance>>> layouts_;
  std::vector<std::vector<Instance>> now_;
  std::optional<Score> best_;
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  size_t Below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(engine_); }

  GpuState Gpu(const std::shared_ptr<const Geometry>& geometry) {
    GpuState gpu{.id = "x", .geometry = geometry};
    Taken taken;
    for (size_t i = Below(6); i > 0; --i) {
      const size_t profile = Below(geometry->profiles().size());
      const std::vector<unsigned> starts = geometry->FreeStarts(taken, profile);
      if (!starts.empty()) {
        const unsigned start = starts[Below(starts.size())];
        geometry->Take(taken, {profile, start});
        gpu.instances.push_back({.kind = {.profile = geometry->profiles()[profile].name},
                                 .start = start,
                                 .use = static_cast<Use>(Below(3))});
      }
    }
    gpu.is_mig_enabled = !gpu.instances.empty() || Below(2) == 0;
    return gpu;
  }
  std::vector<Demand> Demands(const Geometry& geometry, size_t kinds, size_t most) {
    std::map<Kind, unsigned> counts;
    for (size_t i = 0; i < kinds; ++i) {
      counts[{.profile = geometry.profiles()[Below(geometry.profiles().size())].name}] +=
          static_cast<unsigned>(1 + Below(most));
    }
    std::vector<Demand> demands;
    for (const auto& [kind, count] : counts) {
      demands.push_back({.kind = kind, .count = count});
    }
    return demands;
  }

 private:
  std::mt19937 engine_;
};

std::vector<std::vector<Instance>> LayoutsAfter(const std::vector<GpuState>& gpus,
                                                const Plan& plan) {
  std::vector<std::vector<Instance>> layouts;
  for (const GpuState& gpu : gpus) {
    layouts.push_back(gpu.instances);
  }
  for (const GpuChange& change : plan.changes) {
    layouts[change.gpu] = change.layout;
  }
  return layouts;
}

void ExpectLegal(const std::vector<GpuState>& gpus, const Plan& plan) {
  const auto layouts = LayoutsAfter(gpus, plan);
  for (size_t i = 0; i < gpus.size(); ++i) {
    Layout layout;
    for (const Instance& instance : layouts[i]) {
      layout.push_back({gpus[i].geometry->Find(instance.kind.profile).value_or(0), instance.start});
    }
    EXPECT_OK(gpus[i].geometry->Check(layout));
  }
}

// The planner and the brute force agree on whether it is possible, and on the best score.
void ExpectOptimal(const std::vector<GpuState>& gpus, const std::vector<Demand>& demand,
                   unsigned* feasible) {
  const Plan plan = PlanOrDie(gpus, demand);
  const std::optional<Score> best = EveryLayout(gpus, demand).best();
  ASSERT_EQ(plan.is_feasible, best.has_value()) << plan.reason;
  EXPECT_TRUE(plan.is_proven);
  if (best) {
    const auto layouts = LayoutsAfter(gpus, plan);
    ExpectLegal(gpus, plan);
    EXPECT_TRUE(Covers(gpus, layouts, demand));
    EXPECT_EQ(ScoreOf(gpus, layouts), *best);
    EXPECT_EQ(plan.evicted, std::get<0>(*best));
    EXPECT_EQ(plan.destroyed, std::get<1>(*best));
    ++*feasible;
  }
}

TEST(PlanDemandTest, IsOptimalOnTwoSmallGpus) {
  const auto geometry = GeometryOf(kA30);
  unsigned feasible = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::vector<GpuState> gpus = {random.Gpu(geometry), random.Gpu(geometry)};
    ExpectOptimal(gpus, random.Demands(*geometry, 2, 2), &feasible);
  }
  EXPECT_GT(feasible, 30U);
  EXPECT_LT(feasible, 110U);
}

TEST(PlanDemandTest, IsOptimalOnOneLargeGpu) {
  unsigned feasible = 0;
  for (const uint16_t id : {kA100, kRtx}) {
    const auto geometry = GeometryOf(id);
    for (unsigned seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed + 1000);
      const std::vector<GpuState> gpus = {random.Gpu(geometry)};
      ExpectOptimal(gpus, random.Demands(*geometry, 2, 1 + seed % 2), &feasible);
    }
  }
  EXPECT_GT(feasible, 20U);
  EXPECT_LT(feasible, 100U);
}

TEST(PlanDemandTest, IsOptimalOnTwoModels) {
  const auto large = GeometryOf(kA100);
  const auto small = GeometryOf(kA30);
  unsigned feasible = 0;
  for (unsigned seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed + 77);
    const std::vector<GpuState> gpus = {random.Gpu(large), random.Gpu(small)};
    std::vector<Demand> demand = random.Demands(*large, 1, 1);
    const std::vector<Demand> more = random.Demands(*small, 1, 1);
    demand.insert(demand.end(), more.begin(), more.end());
    ExpectOptimal(gpus, demand, &feasible);
  }
  EXPECT_GT(feasible, 0U);
}

// Large hosts: legal, complete, and with an answer within the limit on states.
TEST(PlanDemandTest, AnswersForSixteenGpus) {
  const auto geometry = GeometryOf(kA100);
  unsigned feasible = 0;
  unsigned unproven = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed + 500);
    std::vector<GpuState> gpus;
    for (int i = 0; i < 16; ++i) {
      gpus.push_back(random.Gpu(geometry));
    }
    const std::vector<Demand> demand = random.Demands(*geometry, 5, 3 + seed);
    const Plan plan = PlanOrDie(gpus, demand);
    ExpectLegal(gpus, plan);
    feasible += plan.is_feasible ? 1 : 0;
    unproven += plan.is_proven ? 0 : 1;
    EXPECT_TRUE(!plan.is_feasible || Covers(gpus, LayoutsAfter(gpus, plan), demand));
    EXPECT_TRUE(plan.is_feasible || !plan.reason.empty());
  }
  EXPECT_GT(feasible, 3U);
  RecordProperty("unproven", static_cast<int>(unproven));
}

Plan LayoutOrDie(const GpuState& gpu, const std::string& layout) {
  const auto plan = PlanLayout(gpu, DemandOf(layout));
  EXPECT_OK(plan);
  return plan.value_or(Plan{});
}

TEST(PlanLayoutTest, KeepsWhatIsInTheLayout) {
  const auto geometry = GeometryOf(kA100);
  const GpuState gpu = GpuWith(geometry, "1g.10gb@0:used,2g.20gb@4:idle,1g.10gb@6:idle");
  const Plan plan = LayoutOrDie(gpu, "1g.10gb,1g.10gb,3g.40gb");
  ASSERT_TRUE(plan.is_feasible) << plan.reason;
  ASSERT_THAT(plan.changes, SizeIs(1));
  // The second 1g is in the way of 3g at 4.
  EXPECT_EQ(TextOf(plan.changes[0].destroy), "2g.20gb@4 1g.10gb@6");
  EXPECT_EQ(TextOf(plan.changes[0].create), "1g.10gb@1 3g.40gb@4");
}

TEST(PlanLayoutTest, ChangesNothingThatIsRight) {
  const auto geometry = GeometryOf(kA100);
  const Plan plan = LayoutOrDie(GpuWith(geometry, "3g.40gb@4:used,3g.40gb@0:used"), "2x3g.40gb");
  EXPECT_TRUE(plan.is_feasible);
  EXPECT_THAT(plan.changes, IsEmpty());
}

TEST(PlanLayoutTest, EmptiesAGpu) {
  const auto geometry = GeometryOf(kA100);
  const Plan plan = LayoutOrDie(GpuWith(geometry, "3g.40gb@4:idle,1g.10gb@0:movable"), "");
  ASSERT_THAT(plan.changes, SizeIs(1));
  EXPECT_EQ(plan.destroyed, 2U);
  EXPECT_EQ(plan.evicted, 1U);
  EXPECT_THAT(plan.changes[0].layout, IsEmpty());
}

TEST(PlanLayoutTest, SaysWhatIsInTheWay) {
  const auto geometry = GeometryOf(kA100);
  const GpuState gpu = GpuWith(geometry, "1g.10gb@0:used,1g.10gb@6:idle");
  EXPECT_EQ(LayoutOrDie(gpu, "7g.80gb").reason, "GPU 0: 1g.10gb at memory slice 0 is in use");
  EXPECT_EQ(LayoutOrDie(gpu, "8x1g.10gb").reason, "GPU 0: can hold 7 x 1g.10gb, not 8");
  EXPECT_EQ(LayoutOrDie(gpu, "4g.40gb,3g.40gb,1g.10gb").reason,
            "GPU 0: has 8 memory slices; the layout needs 9");
  EXPECT_THAT(LayoutOrDie(gpu, "1g.5gb").reason,
              HasSubstr("has no profile 1g.5gb; its profiles are 7g.80gb"));
  EXPECT_EQ(LayoutOrDie(gpu, "4g.40gb,1g.10gb").reason,
            "GPU 0: no placement holds 1 x 1g.10gb, 1 x 4g.40gb beside the instances in use");
  GpuState whole = GpuWith(geometry, "");
  whole.may_change = false;
  EXPECT_EQ(LayoutOrDie(whole, "7g.80gb").reason, "GPU 0: it is in use");
}

TEST(PlanLayoutTest, FindsALayoutForEveryMultisetThatIsLegal) {
  const auto geometry = GeometryOf(kA30);
  std::set<std::string> tried;
  for (const Layout& layout : geometry->AllLayouts()) {
    std::map<Kind, unsigned> counts;
    for (const Placement& placement : layout) {
      ++counts[{.profile = geometry->profile(placement).name}];
    }
    std::vector<Demand> demands;
    for (const auto& [kind, count] : counts) {
      demands.push_back({.kind = kind, .count = count});
    }
    const auto plan = PlanLayout(GpuWith(geometry, "2g.12gb@0:idle,1g.6gb@3:idle"), demands);
    ASSERT_OK(plan);
    EXPECT_TRUE(plan->is_feasible) << DemandText(demands);
    tried.insert(DemandText(demands));
  }
  EXPECT_GT(tried.size(), 10U);
}

}  // namespace
}  // namespace kgpu::mig
