// Reads GpuPolicy objects: strict, every error with the path of its field.
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "src/cluster/policy/gpu_policy.h"
#include "src/kube/api/json.h"
#include "src/node/config/node_config.h"
#include "src/node/config/tree_reader.h"
#include "src/node/labels/names.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/located.h"

namespace kgpu::policy {
namespace {

namespace json = boost::json;
using config::Node;
using config::Problems;
using config::Word;
using std::chrono::seconds;

constexpr std::array<Word<DriverSource>, 3> kSources = {{{"host", DriverSource::kHost},
                                                         {"package", DriverSource::kPackage},
                                                         {"container", DriverSource::kContainer}}};
constexpr std::array<Word<LabelOperator>, 4> kOperators = {
    {{"In", LabelOperator::kIn},
     {"NotIn", LabelOperator::kNotIn},
     {"Exists", LabelOperator::kExists},
     {"DoesNotExist", LabelOperator::kDoesNotExist}}};

constexpr uint64_t kMaxSeconds = 7 * 24 * 3600;
constexpr uint64_t kMaxNodes = 100'000;
constexpr size_t kMaxName = 63;

// Lower-case letters, digits and dashes: the name of a condition's group and of a file.
Status CheckName(std::string_view name) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const bool is_valid = !name.empty() && name.size() <= kMaxName && is_plain(name.front()) &&
                        is_plain(name.back()) &&
                        std::ranges::all_of(name, [&](char c) { return is_plain(c) || c == '-'; });
  return is_valid ? OkStatus()
                  : InvalidArgument(
                        "\"{}\" must be at most {} lower-case letters, digits and "
                        "dashes, with a letter or digit at both ends",
                        Printable(name, 80), kMaxName);
}

// Numbers separated by `dots` dots at most, and at least `least`.
bool IsNumbers(std::string_view text, size_t least, size_t most) {
  const std::vector<std::string_view> parts = Split(text, '.');
  return text.size() <= 32 && parts.size() > least && parts.size() <= most + 1 &&
         std::ranges::all_of(parts, [](std::string_view part) {
           return !part.empty() &&
                  std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
         });
}

Status CheckBranch(std::string_view text) {
  return IsNumbers(text, 0, 0)
             ? OkStatus()
             : InvalidArgument("\"{}\" must be the branch's number, such as \"550\"",
                               Printable(text, 60));
}

Status CheckVersion(std::string_view text) {
  return IsNumbers(text, 1, 2) ? OkStatus()
                               : InvalidArgument("\"{}\" must be a version such as \"550.54.15\"",
                                                 Printable(text, 60));
}

Status CheckReason(std::string_view text) {
  const bool is_reason =
      !text.empty() && text.size() <= 64 && text.front() >= 'A' && text.front() <= 'Z' &&
      std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      });
  return is_reason ? OkStatus()
                   : InvalidArgument(
                         "\"{}\" must be a reason of GPUHealthy, such as "
                         "\"RowRemapFailure\": kgpu health faults lists them",
                         Printable(text, 60));
}

// One document.
class Reader {
 public:
  Reader(const json::value& root, Problems& problems) : root_(root), problems_(problems) {}

  GpuPolicy Read(const Node& root) {
    bool has_spec = false;
    Fields(root, {"apiVersion", "kind", "metadata", "spec", "status"},
           [&](std::string_view name, const Node& field) {
             if (name == "spec") {
               has_spec = true;
               ReadSpec(field);
             } else if (name == "apiVersion" || name == "kind") {
               ReadType(field, name == "kind" ? kKind : kApiVersion);
             }
           });
    if (!has_spec) {
      root.Error("spec is missing: set spec.groups");
    }
    ReadMetadata();
    return std::move(policy_);
  }

 private:
  using ReadField = std::function<void(std::string_view, const Node&)>;

  // Calls `read` for the known fields that have a value; notes the others.
  void Fields(const Node& node, std::initializer_list<std::string_view> known,
              const ReadField& read) {
    node.ForAnyField([&](std::string_view name, const Node& field) {
      if (std::ranges::find(known, name) == known.end()) {
        policy_.unknown_fields.push_back(field.path());
      } else if (!field.is_null()) {
        read(name, field);
      }
    });
  }

  static void ReadType(const Node& field, std::string_view expected) {
    if (const auto text = field.String(); text && *text != expected) {
      field.Error("\"{}\" must be {}", Printable(*text, 60), expected);
    }
  }

  void ReadMetadata() {
    policy_.name = kube::NameOf(root_);
    policy_.uid = kube::TextField(root_, {"metadata", "uid"});
    policy_.version = kube::VersionOf(root_);
    policy_.generation = kube::IntField(root_, {"metadata", "generation"}).value_or(0);
  }

  void ReadSpec(const Node& spec) {
    Fields(spec, {"groups", "upgrade", "quarantine"},
           [this](std::string_view name, const Node& field) {
             if (name == "groups") {
               ReadGroups(field);
             } else if (name == "upgrade") {
               ReadUpgrade(field);
             } else {
               ReadQuarantine(field);
             }
           });
    if (policy_.groups.empty()) {
      spec.Error("groups is missing: name at least one group of nodes");
    }
  }

  void ReadGroups(const Node& list) {
    if (list.size() > kMaxGroups) {
      return list.Error("{} groups: at most {} are allowed", list.size(), kMaxGroups);
    }
    std::set<std::string> names;
    list.ForEachItem([&](const Node& item) {
      Group group = ReadGroup(item);
      if (!group.name.empty() && !names.insert(group.name).second) {
        item.Error("name: \"{}\" is a duplicate: give each group its own name", group.name);
      }
      policy_.groups.push_back(std::move(group));
    });
    CheckLabels(list);
  }

  // A label that selects nodes, and is set on them, would move them between groups for ever.
  void CheckLabels(const Node& list) {
    std::set<std::string, std::less<>> selecting;
    for (const Group& group : policy_.groups) {
      group.nodes.AddKeys(selecting);
    }
    if (selecting.empty()) {
      return;
    }
    size_t index = 0;
    list.ForEachItem([&](const Node& item) {
      for (const auto& [key, value] : policy_.groups.at(index++).labels) {
        if (selecting.contains(key)) {
          item.Error("labels: a nodeSelector of this policy looks at \"{}\": set another label",
                     key);
        }
      }
    });
  }

  Group ReadGroup(const Node& item) {
    Group group;
    bool has_nodes = false;
    bool has_name = false;
    Gate gate;
    std::optional<Node> config;
    Fields(item, {"name", "nodeSelector", "driver", "config", "labels", "gate"},
           [&](std::string_view name, const Node& field) {
             if (name == "name") {
               has_name = true;
               config::Set(group.name, field.CheckedString(&CheckName));
             } else if (name == "nodeSelector") {
               has_nodes = true;
               ReadSelector(field, group.nodes);
             } else if (name == "driver") {
               ReadDriver(field, group.driver);
             } else if (name == "config") {
               config.emplace(field);
             } else if (name == "labels") {
               ReadLabels(field, group.labels);
             } else {
               ReadGate(field, gate);
             }
           });
    if (!has_name) {
      item.Error("name is missing");
    }
    if (!has_nodes) {
      item.Error("nodeSelector is missing: {{}} selects all nodes");
    }
    ReadConfig(item, config, gate, group);
    return group;
  }

  void ReadSelector(const Node& node, LabelSelector& selector) {
    Fields(node, {"matchLabels", "matchExpressions"},
           [&](std::string_view name, const Node& field) {
             if (name == "matchLabels") {
               ReadLabels(field, selector.labels);
             } else {
               field.ForEachItem([&](const Node& item) { ReadTerm(item, selector); });
             }
           });
  }

  static void ReadLabels(const Node& node, LabelMap& labels) {
    node.ForAnyField([&](std::string_view key, const Node& field) {
      if (const Status status = labels::CheckKey(key); !status.ok()) {
        field.KeyError("{}", Message(status));
      } else if (auto value = field.CheckedString(&labels::CheckLabelValue)) {
        labels.insert_or_assign(std::string(key), *std::move(value));
      }
    });
  }

  void ReadTerm(const Node& item, LabelSelector& selector) {
    LabelTerm term;
    std::optional<LabelOperator> op;
    Fields(item, {"key", "operator", "values"}, [&](std::string_view name, const Node& field) {
      if (name == "key") {
        config::Set(term.key, field.CheckedString(&labels::CheckKey));
      } else if (name == "operator") {
        op = field.OneOf<LabelOperator>(kOperators);
      } else {
        field.ForEachItem([&](const Node& value) {
          if (auto text = value.CheckedString(&labels::CheckLabelValue)) {
            term.values.push_back(*std::move(text));
          }
        });
      }
    });
    if (term.key.empty() || !op) {
      return item.Error(
          "key and operator are needed: operators are In, NotIn, Exists and "
          "DoesNotExist");
    }
    term.op = *op;
    const bool takes_values = term.op == LabelOperator::kIn || term.op == LabelOperator::kNotIn;
    if (takes_values == term.values.empty()) {
      return item.Error("values: {} {} values", config::NameOf<LabelOperator>(kOperators, term.op),
                        takes_values ? "needs" : "takes no");
    }
    selector.terms.push_back(std::move(term));
  }

  void ReadDriver(const Node& node, Driver& driver) {
    Fields(node, {"from", "branch", "version"}, [&](std::string_view name, const Node& field) {
      if (name == "from") {
        config::Set(driver.from, field.OneOf<DriverSource>(kSources));
      } else if (name == "branch") {
        config::Set(driver.branch, field.CheckedString(&CheckBranch));
      } else {
        config::Set(driver.version, field.CheckedString(&CheckVersion));
      }
    });
    if (driver.from != DriverSource::kHost && driver.target().empty()) {
      node.Error("branch or version is needed with from: {}", NameOf(driver.from));
    }
    if (!driver.branch.empty() && !driver.version.empty() &&
        !IsDriver(driver.version, driver.branch)) {
      node.Error("version {} is not of branch {}: remove one of them", driver.version,
                 driver.branch);
    }
  }

  void ReadGate(const Node& node, Gate& gate) {
    Fields(node, {"condition", "taint"}, [&](std::string_view name, const Node& field) {
      (name == "taint" ? gate.taint : gate.condition) = field.Bool();
    });
  }

  // The NodeConfig that the agents of this group read.
  void ReadConfig(const Node& item, const std::optional<Node>& field, const Gate& gate,
                  Group& group) {
    if (field && !field->is_map()) {
      return field->Error("{} must be a NodeConfig", field->Shown());
    }
    if (!field && gate == Gate{}) {
      return;
    }
    const size_t index = policy_.groups.size();
    const json::value* inner = kube::FindField(root_, {"spec", "groups"});
    json::object text = {{"apiVersion", std::string(config::kApiVersion)},
                         {"kind", std::string(config::kNodeConfigKind)}};
    if (field && inner != nullptr && inner->is_array() && index < inner->get_array().size()) {
      for (const auto& [key, value] : inner->get_array()[index].at("config").as_object()) {
        text[key] = value;
      }
    }
    if (gate != Gate{} && !AddGate(gate, text)) {
      return item.Error("gate: must be a map in config, too");
    }
    group.config = doc::Print(text, doc::Format::kYaml);
    const std::string path = fmt::format("{}.config", item.path());
    const auto parsed = config::ParseNodeConfig(group.config, path);
    if (!parsed.ok()) {
      problems_.Add(item.position(), Message(parsed.status()));
      group.config.clear();
      return;
    }
    // Who uses others, the controller would not see: a driver would be replaced under their pods.
    for (const config::Pool& pool : parsed->pools) {
      if (!pool.resource.empty() && !IsGpuResource(pool.resource)) {
        item.Error("config: pools: resource \"{}\" must begin with nvidia.com/ or kgpu.dev/",
                   Printable(pool.resource, 100));
      }
    }
  }

  // The group's own gate wins.
  static bool AddGate(const Gate& gate, json::object& config) {
    json::value& fields = config["gate"];
    if (fields.is_null()) {
      fields = json::object();
    }
    if (!fields.is_object()) {
      return false;
    }
    if (gate.condition) {
      fields.get_object()["condition"] = *gate.condition;
    }
    if (gate.taint) {
      fields.get_object()["taint"] = *gate.taint;
    }
    return true;
  }

  static std::optional<Amount> ReadAmount(const Node& field, uint32_t least) {
    if (!field.is_string()) {
      const auto number = field.Number(least, kMaxNodes);
      return number ? std::optional(Amount{.number = static_cast<uint32_t>(*number)})
                    : std::nullopt;
    }
    const auto text = field.String();
    const auto number = text && text->ends_with('%')
                            ? ParseUint(std::string_view(*text).substr(0, text->size() - 1))
                            : std::nullopt;
    if (!number || *number < least || *number > 100) {
      field.Error(
          "{} must be a number of nodes, or a percentage of the group from \"{}%\" to "
          "\"100%\"",
          field.Shown(), least);
      return std::nullopt;
    }
    return Amount{.number = static_cast<uint32_t>(*number), .is_percent = true};
  }

  static void ReadSeconds(const Node& field, uint64_t least, seconds& out) {
    if (const auto number = field.Number(least, kMaxSeconds)) {
      out = seconds(*number);
    }
  }

  void ReadUpgrade(const Node& node) {
    Upgrade& to = policy_.upgrade;
    Fields(node,
           {"maxUnavailable", "failureBudget", "paused", "abort", "attempts", "waitForJobsSeconds",
            "evictionSeconds", "installSeconds", "validationSeconds", "evictUnmanaged"},
           [&](std::string_view name, const Node& field) {
             if (name == "maxUnavailable") {
               config::Set(to.max_unavailable, ReadAmount(field, 1));
             } else if (name == "failureBudget") {
               config::Set(to.failure_budget, ReadAmount(field, 0));
             } else if (name == "paused") {
               config::Set(to.is_paused, field.Bool());
             } else if (name == "abort") {
               config::Set(to.is_aborted, field.Bool());
             } else if (name == "evictUnmanaged") {
               config::Set(to.evicts_unmanaged, field.Bool());
             } else if (name == "attempts") {
               to.attempts = static_cast<uint32_t>(field.Number(1, 10).value_or(to.attempts));
             } else {
               ReadLimit(name, field);
             }
           });
  }

  void ReadLimit(std::string_view name, const Node& field) {
    Upgrade& to = policy_.upgrade;
    if (name == "waitForJobsSeconds") {
      ReadSeconds(field, 0, to.job_wait);
    } else if (name == "evictionSeconds") {
      ReadSeconds(field, 1, to.eviction_limit);
    } else if (name == "installSeconds") {
      ReadSeconds(field, 60, to.install_limit);
    } else {
      ReadSeconds(field, 60, to.validation_limit);
    }
  }

  void ReadQuarantine(const Node& node) {
    Quarantine& to = policy_.quarantine;
    Fields(node, {"enabled", "reasons", "maxNodes"}, [&](std::string_view name, const Node& field) {
      if (name == "enabled") {
        config::Set(to.is_enabled, field.Bool());
      } else if (name == "maxNodes") {
        config::Set(to.max_nodes, ReadAmount(field, 1));
      } else {
        field.ForEachItem([&](const Node& item) {
          if (auto reason = item.CheckedString(&CheckReason)) {
            to.reasons.push_back(*std::move(reason));
          }
        });
      }
    });
  }

  const json::value& root_;
  Problems& problems_;
  GpuPolicy policy_;
};

}  // namespace

StatusOr<GpuPolicy> ReadGpuPolicy(const json::value& object) {
  // Through text: the reader of trees with positions is the one that names fields.
  ASSIGN_OR_RETURN(const doc::Located document,
                   doc::ParseLocated(doc::PrintLine(object), doc::Format::kJson, "GpuPolicy"));
  Problems problems("GpuPolicy");
  GpuPolicy policy = Reader(document.root, problems).Read(Node(document, problems));
  if (!problems.empty()) {
    return InvalidArgument("{}", Join(problems.Texts(), "\n"));
  }
  return policy;
}

StatusOr<GpuPolicy> ParseGpuPolicy(std::string_view text, std::string_view file) {
  const auto format = doc::FormatOfPath(file);
  ASSIGN_OR_RETURN(const doc::Located document,
                   doc::ParseLocated(text, format.value_or(doc::Format::kYaml), file));
  Problems problems(file);
  GpuPolicy policy = Reader(document.root, problems).Read(Node(document, problems));
  for (const std::string& path : policy.unknown_fields) {
    problems.Add({}, fmt::format("{}: unknown field", path));
  }
  RETURN_IF_ERROR(problems.ToStatus());
  return policy;
}

}  // namespace kgpu::policy
