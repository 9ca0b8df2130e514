#include "src/cli/top/cluster_view.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/cli/top/csv.h"
#include "src/cli/top/figures.h"
#include "src/cli/top/header.h"
#include "src/cli/top/tree.h"
#include "src/platform/base/strings.h"

namespace kgpu::top {
namespace {

using gpus::Counts;
using gpus::Group;
using gpus::GroupBy;
using gpus::Holder;
using gpus::Summary;
using terminal::Align;
using terminal::Color;
using terminal::Line;
using terminal::Look;
using terminal::Safe;
using terminal::Style;

constexpr std::array<SortKey, 4> kClusterSorts = {
    {{'n', "name"}, {'u', "used"}, {'f', "free"}, {'h', "unhealthy"}}};
constexpr size_t kGroupings = 4;

struct ClusterLayout {
  size_t name = 0;
  size_t total = 6;
  size_t used = 6;
  size_t bar = 0;
  size_t free = 6;
  size_t unhealthy = 9;
  size_t cordoned = 8;
  size_t utilization = 0;
  size_t memory = 0;
  size_t info = 0;
};

ClusterLayout LayOutCluster(size_t width, bool has_uses) {
  ClusterLayout layout;
  layout.utilization = has_uses ? 5 : 0;
  layout.memory = has_uses && width >= 100 ? 14 : 0;
  layout.bar = width < 75 ? 0 : width < 120 ? 10 : 20;
  size_t taken = 0;
  for (const size_t column : {layout.total, layout.used, layout.bar, layout.free, layout.unhealthy,
                              layout.cordoned, layout.utilization, layout.memory}) {
    taken += column == 0 ? 0 : column + 1;
  }
  const size_t left = width > taken ? width - taken : 0;
  constexpr size_t kLeastName = 12;
  constexpr size_t kWide = 60;
  layout.name = std::clamp(left < kWide ? left : left / 2, kLeastName, kWide);
  layout.info = left > layout.name + 1 ? left - layout.name - 1 : 0;
  return layout;
}

class ClusterBuilder {
 public:
  ClusterBuilder(GroupBy by, const ClusterLayout& layout, const Look& look)
      : by_(by), layout_(layout), look_(look) {}

  Line Columns() const {
    const Style style = {.is_bold = true};
    Line line;
    line.AddCell(ToUpper(ToString(by_)), layout_.name, look_, style);
    Add("TOTAL", layout_.total, line, style);
    Add("USED", layout_.used, line, style);
    Add("", layout_.bar, line, style);
    Add("FREE", layout_.free, line, style);
    Add("UNHEALTHY", layout_.unhealthy, line, style);
    Add("CORDONED", layout_.cordoned, line, style);
    Add("UTIL", layout_.utilization, line, style);
    Add("MEMORY", layout_.memory, line, style);
    Add(by_ == GroupBy::kNode ? "MODELS, POOLS" : "NODES, MODELS, POOLS", layout_.info, line, style,
        Align::kLeft);
    return line;
  }

  Item ItemOf(const Group& group) const {
    Item item{.id = fmt::format("{}/{}", ToString(by_), group.name),
              .text = fmt::format("{} {} {} {} {}", group.name, Join(group.models, " "),
                                  Join(group.pools, " "), group.problem,
                                  group.counts.unhealthy > 0 ? "unhealthy" : ""),
              .name = Safe(group.name, look_),
              .style = {.is_bold = true}};
    if (!group.problem.empty()) {
      item.children.push_back({.id = item.id + "/problem",
                               .name = Safe("! " + group.problem, look_),
                               .style = {.color = Color::kRed, .is_bold = true},
                               .is_message = true});
    }
    for (const Holder* holder : group.holders) {
      item.children.push_back(ItemOf(*holder, item.id));
    }
    AddFigures(group, item.figures);
    return item;
  }

 private:
  static std::string ToUpper(std::string_view text) {
    std::string upper(text);
    for (char& letter : upper) {
      letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    }
    return upper;
  }

  void Add(std::string_view text, size_t width, Line& line, Style style = {},
           Align align = Align::kRight) const {
    if (width > 0) {
      line.AddBlanks(1);
      line.AddCell(text, width, look_, style, align);
    }
  }

  // A namespace has none but what it uses.
  void AddFigures(const Group& group, Line& line) const {
    const Counts& counts = group.counts;
    const bool is_space = by_ == GroupBy::kNamespace;
    const auto number = [&](uint64_t count) { return is_space ? "-" : fmt::format("{}", count); };
    Add(number(counts.total), layout_.total, line);
    Add(fmt::format("{}", counts.used), layout_.used, line);
    Add(is_space ? "" : Bar(ShareOf(counts.used, counts.total), layout_.bar, look_), layout_.bar,
        line, {.color = Color::kBlue});
    Add(number(counts.free), layout_.free, line,
        {.color = counts.free > 0 ? Color::kGreen : Color::kNone});
    Add(number(counts.unhealthy), layout_.unhealthy, line,
        {.color = counts.unhealthy > 0 ? Color::kRed : Color::kNone});
    Add(number(counts.cordoned), layout_.cordoned, line,
        {.color = counts.cordoned > 0 ? Color::kYellow : Color::kNone});
    Add(PercentText(group.use.utilization), layout_.utilization, line);
    Add(group.use.memory_total ? MemoryText(group.use.memory_used, group.use.memory_total) : "-",
        layout_.memory, line);
    std::string info = by_ == GroupBy::kNode
                           ? ""
                           : fmt::format("{} node{}  ", group.nodes, group.nodes == 1 ? "" : "s");
    info += by_ == GroupBy::kModel ? "" : Join(group.models, ", ") + "  ";
    info += by_ == GroupBy::kPool ? "" : Join(group.pools, ", ");
    if (group.pending > 0) {
      info += fmt::format("  {} pending", group.pending);
    }
    Add(Safe(info, look_), layout_.info, line, {.is_dim = true}, Align::kLeft);
  }

  Item ItemOf(const Holder& holder, const std::string& parent) const {
    const std::string name = holder.pod.empty()
                                 ? fmt::format("{} (claim {})", holder.space, holder.claim)
                                 : fmt::format("{}/{}", holder.space, holder.pod);
    Item item{
        .id =
            fmt::format("{}/{}/{}/{}/{}", parent, name, holder.claim, holder.node, holder.resource),
        .text = fmt::format("pod {} {} {} {}", name, holder.claim, holder.node, holder.resource),
        .name = Safe(name, look_)};
    if (!holder.pod.empty()) {
      item.target = {.kind = TargetKind::kPod, .name = name};
    }
    Add("", layout_.total, item.figures);
    Add(fmt::format("{}", holder.count), layout_.used, item.figures);
    std::string info = by_ == GroupBy::kNode ? holder.resource : holder.node;
    if (by_ != GroupBy::kNode && by_ != GroupBy::kPool) {
      info += "  " + holder.resource;
    }
    if (!holder.claim.empty()) {
      info += "  claim " + holder.claim;
    }
    if (holder.other_pods > 0) {
      info +=
          fmt::format(", with {} more pod{}", holder.other_pods, holder.other_pods == 1 ? "" : "s");
    }
    item.figures.AddBlanks(2);
    item.figures.Add(Safe(info, look_), {.is_dim = true});
    return item;
  }

  const GroupBy by_;
  const ClusterLayout& layout_;
  const Look& look_;
};

void SortGroups(const ListState& state, std::vector<Group>& groups) {
  const auto measure = [&](const Group& group) {
    return state.sort == 1   ? group.counts.used
           : state.sort == 2 ? group.counts.free
                             : group.counts.unhealthy;
  };
  if (state.sort > 0) {
    std::ranges::stable_sort(groups, std::greater(), measure);
  }
  if (state.is_reversed) {
    std::ranges::reverse(groups);
  }
}

Line FirstLine(const Summary& summary, const std::string& time, size_t columns, const Look& look) {
  Header header(columns, look);
  header.Add("kgpu top --cluster", {.is_bold = true});
  const Counts total = TotalOf(summary);
  header.Add(TotalText(total), {.color = total.unhealthy > 0 ? Color::kRed : Color::kNone});
  if (!summary.pending.empty()) {
    header.Add(fmt::format("{} pod{} pending", summary.pending.size(),
                           summary.pending.size() == 1 ? "" : "s"),
               {.color = Color::kYellow});
  }
  header.Add(ClockText(time));
  return header.line();
}

}  // namespace

std::span<const SortKey> ClusterSorts() {
  return kClusterSorts;
}

GroupBy GroupingOf(const ListState& state) {
  return static_cast<GroupBy>(state.grouping % kGroupings);
}

View ClusterView(const Summary& summary, const std::string& time, const ListState& state,
                 size_t columns, const Look& look, const std::string& trouble) {
  const GroupBy by = GroupingOf(state);
  const ClusterLayout layout =
      LayOutCluster(columns, !summary.uses.empty() && by != GroupBy::kNamespace);
  const ClusterBuilder builder(by, layout, look);
  std::vector<Group> groups = GroupsOf(summary, by);
  SortGroups(state, groups);
  std::vector<Item> items;
  items.reserve(groups.size());
  for (const Group& group : groups) {
    items.push_back(builder.ItemOf(group));
  }
  View view{.sorts = kClusterSorts, .groupings = gpus::kGroupings};
  view.header.push_back(FirstLine(summary, time, columns, look));
  if (!trouble.empty()) {
    view.header.emplace_back(Safe(trouble, look), Style{.color = Color::kRed});
  }
  for (const std::string& what : summary.unreadable) {
    view.header.emplace_back(Safe("not read: " + what, look), Style{.color = Color::kYellow});
  }
  view.columns = builder.Columns();
  view.rows = RowsOf(items, state, layout.name, look);
  view.nothing = "no node has GPUs";
  return view;
}

std::string ClusterCsv(const Summary& summary, GroupBy by) {
  std::string text = CsvLine({std::string(ToString(by)), "total", "used", "free", "unhealthy",
                              "cordoned", "pending", "nodes", "models", "pools",
                              "utilization_percent", "memory_used_bytes", "memory_total_bytes"});
  for (const Group& group : GroupsOf(summary, by)) {
    const bool is_space = by == GroupBy::kNamespace;
    const auto number = [&](uint64_t count) { return is_space ? "" : fmt::format("{}", count); };
    const auto figure = [](const auto& value) { return value ? fmt::format("{}", *value) : ""; };
    text += CsvLine({group.name, number(group.counts.total), fmt::format("{}", group.counts.used),
                     number(group.counts.free), number(group.counts.unhealthy),
                     number(group.counts.cordoned), fmt::format("{}", group.pending),
                     fmt::format("{}", group.nodes), Join(group.models, " "),
                     Join(group.pools, " "), figure(group.use.utilization),
                     figure(group.use.memory_used), figure(group.use.memory_total)});
  }
  return text;
}

}  // namespace kgpu::top
