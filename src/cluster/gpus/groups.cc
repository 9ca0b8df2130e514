#include "src/cluster/gpus/groups.h"

#include <boost/json/array.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "src/node/report/table.h"
#include "src/platform/base/strings.h"

namespace kgpu::gpus {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 4> kNames = {"node", "model", "pool", "namespace"};

using Place = std::pair<std::string, std::string>;  // node, resource

std::string NameFor(const NodePool& pool, GroupBy by) {
  switch (by) {
    case GroupBy::kNode:
      return pool.node;
    case GroupBy::kModel:
      return pool.model.empty() ? "unknown" : pool.model;
    default:
      return pool.resource;
  }
}

void AddOnce(const std::string& text, std::vector<std::string>& texts) {
  if (!text.empty() && std::ranges::find(texts, text) == texts.end()) {
    texts.push_back(text);
  }
}

std::vector<Group> ListOf(std::map<std::string, Group> groups) {
  std::vector<Group> list;
  for (auto& [name, group] : groups) {
    group.name = name;
    list.push_back(std::move(group));
  }
  return list;
}

// A GPU in no pool counts in no group of pools.
void AddUses(const Summary& summary, GroupBy by, std::map<std::string, Group>& groups) {
  std::map<std::string, std::pair<double, uint64_t>> sums;  // of percents, and how many
  const auto add = [](std::optional<uint64_t> more, std::optional<uint64_t>& sum) {
    sum = more ? std::optional(sum.value_or(0) + *more) : sum;
  };
  for (const GpuUse& gpu : summary.uses) {
    const auto group =
        groups.find(NameFor({.node = gpu.node, .resource = gpu.resource, .model = gpu.model}, by));
    if (group == groups.end()) {
      continue;
    }
    Use& use = group->second.use;
    add(gpu.memory_used, use.memory_used);
    add(gpu.memory_total, use.memory_total);
    if (gpu.utilization) {
      auto& [sum, count] = sums[group->first];
      sum += *gpu.utilization;
      use.utilization = sum / static_cast<double>(++count);
    }
  }
}

std::vector<Group> NamespaceGroups(const Summary& summary) {
  std::map<std::string, Group> groups;
  std::map<Place, const NodePool*> pools;
  for (const NodePool& pool : summary.pools) {
    pools[{pool.node, pool.resource}] = &pool;
  }
  std::map<std::string, std::set<std::string>> nodes;
  for (const Holder& holder : summary.holders) {
    Group& group = groups[holder.space];
    group.counts.used += holder.count;
    group.holders.push_back(&holder);
    AddOnce(holder.resource, group.pools);
    nodes[holder.space].insert(holder.node);
    if (const auto pool = pools.find({holder.node, holder.resource}); pool != pools.end()) {
      AddOnce(pool->second->model, group.models);
    }
  }
  for (const Holder& holder : summary.pending) {
    groups[holder.space].pending += holder.count;
  }
  for (const auto& [space, its_nodes] : nodes) {
    groups[space].nodes = its_nodes.size();
  }
  return ListOf(std::move(groups));
}

std::vector<std::string> Numbers(const Counts& counts) {
  return {std::to_string(counts.total), std::to_string(counts.used), std::to_string(counts.free),
          std::to_string(counts.unhealthy), std::to_string(counts.cordoned)};
}

std::string NamespaceTable(const std::vector<Group>& groups) {
  report::Table table({"NAMESPACE", "USED", "PENDING", "PODS", "NODES", "MODELS"});
  for (const Group& group : groups) {
    table.AddRow({group.name, std::to_string(group.counts.used), std::to_string(group.pending),
                  std::to_string(group.holders.size()), std::to_string(group.nodes),
                  Join(group.models, ", ")});
  }
  return table.Render();
}

std::string CountsTable(const std::vector<Group>& groups, GroupBy by, bool has_uses) {
  std::vector<std::string> header;
  switch (by) {
    case GroupBy::kNode:
      header = {"NODE", "MODELS", "POOLS"};
      break;
    case GroupBy::kModel:
      header = {"MODEL", "NODES", "POOLS"};
      break;
    default:
      header = {"POOL", "NODES", "MODELS"};
  }
  for (const char* title : {"TOTAL", "USED", "FREE", "UNHEALTHY", "CORDONED"}) {
    header.emplace_back(title);
  }
  if (has_uses) {
    header.emplace_back("UTIL");
    header.emplace_back("MEMORY");
  }
  report::Table table(header);
  for (const Group& group : groups) {
    std::vector<std::string> row = {group.name};
    if (by == GroupBy::kNode) {
      row.push_back(Join(group.models, ", "));
      row.push_back(Join(group.pools, ", "));
    } else {
      row.push_back(std::to_string(group.nodes));
      row.push_back(Join(by == GroupBy::kModel ? group.pools : group.models, ", "));
    }
    row = Concat(std::move(row), Numbers(group.counts));
    if (has_uses) {
      const Use& use = group.use;
      row.push_back(use.utilization ? fmt::format("{:.0f}%", *use.utilization) : "-");
      row.push_back(use.memory_used && use.memory_total
                        ? fmt::format("{}/{} GiB", *use.memory_used >> 30, *use.memory_total >> 30)
                        : "-");
    }
    table.AddRow(std::move(row));
  }
  return table.Render();
}

json::array TextsJson(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

json::object HolderJson(const Holder& holder) {
  return {{"namespace", holder.space},      {"name", holder.pod},  {"claim", holder.claim},
          {"otherPods", holder.other_pods}, {"node", holder.node}, {"pool", holder.resource},
          {"count", holder.count}};
}

json::object CountsJson(const Counts& counts) {
  return {{"total", counts.total},
          {"used", counts.used},
          {"free", counts.free},
          {"unhealthy", counts.unhealthy},
          {"cordoned", counts.cordoned}};
}

json::value OrNull(const auto& value) {
  return value ? json::value(*value) : json::value();
}

json::object GroupJson(const Group& group, GroupBy by) {
  json::object object = {{"name", group.name}};
  if (by == GroupBy::kNamespace) {
    object["used"] = group.counts.used;
    object["pending"] = group.pending;
  } else {
    for (auto& entry : CountsJson(group.counts)) {
      object[entry.key()] = std::move(entry.value());
    }
    object["utilization"] = OrNull(group.use.utilization);
    object["memory"] = {{"used", OrNull(group.use.memory_used)},
                        {"total", OrNull(group.use.memory_total)}};
  }
  object["nodes"] = group.nodes;
  object["models"] = TextsJson(group.models);
  object["pools"] = TextsJson(group.pools);
  if (by == GroupBy::kNode) {
    object["problem"] = group.problem;
  }
  json::array& pods = object["pods"].emplace_array();
  for (const Holder* holder : group.holders) {
    pods.push_back(HolderJson(*holder));
  }
  return object;
}

}  // namespace

StatusOr<GroupBy> ParseGroupBy(std::string_view flag, std::string_view text) {
  const auto* const found = std::ranges::find(kNames, text);
  if (found == kNames.end()) {
    return InvalidArgument("{}: \"{}\" must be node, model, pool or namespace", flag,
                           Printable(text, 40));
  }
  return static_cast<GroupBy>(found - kNames.begin());
}

std::string_view ToString(GroupBy by) {
  return kNames.at(static_cast<size_t>(by));
}

Summary Filtered(Summary summary, const Filter& filter) {
  std::set<Place> of_space;
  for (const Holder& holder : summary.holders) {
    if (holder.space == filter.space) {
      of_space.insert({holder.node, holder.resource});
    }
  }
  const auto is_out = [](const std::string& wanted, const std::string& text) {
    return !wanted.empty() && wanted != text;
  };
  std::erase_if(summary.pools, [&](const NodePool& pool) {
    return is_out(filter.node, pool.node) || is_out(filter.model, pool.model) ||
           is_out(filter.pool, pool.resource) ||
           (!filter.space.empty() && !of_space.contains({pool.node, pool.resource}));
  });
  std::set<Place> left;
  for (const NodePool& pool : summary.pools) {
    left.insert({pool.node, pool.resource});
  }
  std::erase_if(summary.uses, [&](const GpuUse& gpu) {
    const auto node = left.lower_bound({gpu.node, ""});
    return node == left.end() || node->first != gpu.node || is_out(filter.model, gpu.model) ||
           is_out(filter.pool, gpu.resource);
  });
  std::erase_if(summary.holders, [&](const Holder& holder) {
    return is_out(filter.space, holder.space) || !left.contains({holder.node, holder.resource});
  });
  std::erase_if(summary.pending, [&](const Holder& holder) {
    return is_out(filter.space, holder.space) || is_out(filter.pool, holder.resource);
  });
  return summary;
}

std::vector<Group> GroupsOf(const Summary& summary, GroupBy by) {
  if (by == GroupBy::kNamespace) {
    return NamespaceGroups(summary);
  }
  std::map<std::string, Group> groups;
  std::map<Place, Group*> group_of;
  std::map<std::string, std::set<std::string>> nodes;
  for (const NodePool& pool : summary.pools) {
    const std::string name = NameFor(pool, by);
    if (name.empty()) {
      continue;  // a node that offers no pool
    }
    Group& group = groups[name];
    group.counts += pool.counts;
    AddOnce(pool.model, group.models);
    AddOnce(pool.resource, group.pools);
    if (by == GroupBy::kNode && group.problem.empty()) {
      group.problem = pool.problem;
    }
    nodes[name].insert(pool.node);
    group_of[{pool.node, pool.resource}] = &group;
  }
  for (const auto& [name, its_nodes] : nodes) {
    groups[name].nodes = its_nodes.size();
  }
  for (const Holder& holder : summary.holders) {
    if (const auto found = group_of.find({holder.node, holder.resource}); found != group_of.end()) {
      found->second->holders.push_back(&holder);
    }
  }
  AddUses(summary, by, groups);
  if (by == GroupBy::kPool) {
    for (const Holder& holder : summary.pending) {
      groups[holder.resource].pending += holder.count;
    }
  }
  return ListOf(std::move(groups));
}

Counts TotalOf(const Summary& summary) {
  Counts total;
  for (const NodePool& pool : summary.pools) {
    total += pool.counts;
  }
  return total;
}

std::string TotalText(const Counts& counts) {
  std::string text = fmt::format("{} of {} used, {} free", counts.used, counts.total, counts.free);
  if (counts.unhealthy > 0) {
    text += fmt::format(", {} unhealthy", counts.unhealthy);
  }
  if (counts.cordoned > 0) {
    text += fmt::format(", {} cordoned", counts.cordoned);
  }
  return text;
}

std::string SummaryTable(const Summary& summary, GroupBy by) {
  const std::vector<Group> groups = GroupsOf(summary, by);
  std::string text = by == GroupBy::kNamespace ? NamespaceTable(groups)
                                               : CountsTable(groups, by, !summary.uses.empty());
  text += fmt::format("\n{}\n", TotalText(TotalOf(summary)));
  uint64_t waiting = 0;
  for (const Holder& holder : summary.pending) {
    waiting += holder.count;
  }
  if (waiting > 0) {
    const size_t pods = summary.pending.size();
    text += fmt::format("{} pending pod{} request{} {}: `kgpu explain pod NS/NAME` says why\n",
                        pods, pods == 1 ? "" : "s", pods == 1 ? "s" : "", waiting);
  }
  for (const Group& group : by == GroupBy::kNode ? groups : std::vector<Group>()) {
    if (!group.problem.empty()) {
      text += fmt::format("{}: {}\n", group.name, Printable(group.problem, 400));
    }
  }
  return text;
}

json::object SummaryJson(const Summary& summary, GroupBy by) {
  json::array groups;
  for (const Group& group : GroupsOf(summary, by)) {
    groups.push_back(GroupJson(group, by));
  }
  json::array pending;
  for (const Holder& holder : summary.pending) {
    json::object object = HolderJson(holder);
    object.erase("node");
    pending.push_back(std::move(object));
  }
  return {{"by", ToString(by)},
          {"gpus", CountsJson(TotalOf(summary))},
          {"groups", std::move(groups)},
          {"pending", std::move(pending)},
          {"unreadable", TextsJson(summary.unreadable)}};
}

}  // namespace kgpu::gpus
