// What a namespace forbids, and pods that were not created for that reason.
#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "src/diagnose/explain/judge.h"
#include "src/diagnose/explain/placing.h"
#include "src/platform/base/shell.h"
#include "src/platform/base/strings.h"

namespace kgpu::explain {
namespace {

report::Finding QuotaReason(const Quota& quota, std::string evidence) {
  return Found("quota-exceeded", std::move(evidence),
               {fmt::format("kubectl describe resourcequota -n {} {}", ShellWord(quota.space),
                            ShellWord(quota.name)),
                "# delete pods of the namespace that use them, or raise the quota"});
}

// Whether a pod counts for a quota of one scope. Others than these cannot be known from what is
// read.
bool IsInScope(const Case& c, const Requirement& scope) {
  if (scope.key == "PriorityClass") {
    Texts labels;
    if (!c.pod.priority_class.empty()) {
      labels.emplace(scope.key, c.pod.priority_class);
    }
    return Holds(scope, labels);
  }
  // A pod that asks for devices has requests.
  return scope.key == "NotBestEffort";
}

void Quotas(const Case& c, Reasons& out) {
  for (const Quota& quota : c.facts.quotas) {
    const bool counts = std::ranges::all_of(
        quota.scopes, [&c](const Requirement& scope) { return IsInScope(c, scope); });
    if (!counts) {
      continue;
    }
    for (const auto& [key, hard] : quota.hard) {
      constexpr std::string_view kRequests = "requests.";
      const std::string_view resource =
          key.starts_with(kRequests) ? std::string_view(key).substr(kRequests.size()) : key;
      const Amount want = resource == "pods" ? Amount{1000} : AmountOf(c.wants, resource);
      const Amount used = AmountOf(quota.used, key);
      if (want.milli > 0 && used + want > hard) {
        out.push_back(QuotaReason(
            quota, fmt::format("{}: {}: {} used of {}, requests {} more", quota.name, key,
                               AmountText(resource, used), AmountText(resource, hard),
                               AmountText(resource, want))));
      }
    }
  }
}

void LimitOf(const Limit& limit, std::string_view whose, const Amounts& wants, Reasons& out) {
  const auto add = [&](std::string_view word, const std::string& resource, Amount bound) {
    out.push_back(Found("limit-range",
                        fmt::format("{}: {} of a {} for {}: {}; {} requests {}", limit.range, word,
                                    limit.type, resource, AmountText(resource, bound), whose,
                                    AmountText(resource, AmountOf(wants, resource))),
                        {fmt::format("kubectl describe limitrange -n {} {}", ShellWord(limit.space),
                                     ShellWord(limit.range))}));
  };
  for (const auto& [resource, most] : limit.most) {
    if (AmountOf(wants, resource) > most) {
      add("most", resource, most);
    }
  }
  for (const auto& [resource, least] : limit.least) {
    if (IsExtended(resource) && wants.contains(resource) && AmountOf(wants, resource) < least) {
      add("least", resource, least);
    }
  }
}

void Limits(const Case& c, Reasons& out) {
  for (const Limit& limit : c.facts.limits) {
    if (limit.type == "Pod") {
      LimitOf(limit, "the pod", c.wants, out);
    }
    for (const ContainerSpec& container : c.pod.containers) {
      if (limit.type == "Container") {
        LimitOf(limit, fmt::format("container {}", container.name), container.limits, out);
      }
    }
  }
}

// A text of admission, and its reason.
struct Refusal {
  std::string_view text;
  std::string_view id;
};
constexpr std::array kRefusals = {
    Refusal{"exceeded quota", "quota-exceeded"},
    Refusal{"failed quota", "quota-exceeded"},
    Refusal{"usage per Container", "limit-range"},
    Refusal{"usage per Pod", "limit-range"},
    Refusal{"RuntimeClass", "runtime-class-missing"},
    Refusal{"no PriorityClass", "priority-class-missing"},
};

std::string_view IdOf(std::string_view message) {
  for (const Refusal& refusal : kRefusals) {
    if (message.find(refusal.text) != std::string_view::npos) {
      return refusal.id;
    }
  }
  return "create-refused";
}

std::vector<std::string> FixOf(std::string_view id, const Event& event) {
  const std::string owner =
      fmt::format("kubectl describe {} -n {} {}", ShellWord(ToLower(event.kind)),
                  ShellWord(event.space), ShellWord(event.name));
  if (id == "quota-exceeded") {
    return {fmt::format("kubectl describe resourcequota -n {}", ShellWord(event.space)), owner};
  }
  if (id == "limit-range") {
    return {fmt::format("kubectl describe limitrange -n {}", ShellWord(event.space)), owner};
  }
  if (id == "runtime-class-missing") {
    return {"kubectl get runtimeclasses", owner};
  }
  if (id == "priority-class-missing") {
    return {"kubectl get priorityclasses", owner};
  }
  return {owner};
}

// Whether pods of this name are made by what the event is about: "train-6d4f-x2k9p" by
// "train-6d4f", and of a Deployment "train" all that begin so.
bool Makes(const Event& event, std::string_view name) {
  return event.reason == "FailedCreate" && !event.name.empty() &&
         (name == event.name || name.starts_with(fmt::format("{}-", event.name)) ||
          event.name.starts_with(fmt::format("{}-", name)));
}

}  // namespace

Reasons RuleReasons(const Case& c) {
  Reasons out;
  Quotas(c, out);
  Limits(c, out);
  return out;
}

Reasons AbsentReasons(const Facts& facts) {
  Reasons out;
  std::vector<std::string_view> names(facts.names.begin(), facts.names.end());
  const std::string wanted = fmt::format("{}/{}", facts.wanted_space, facts.wanted_name);
  const auto near = Nearest(wanted, names);
  out.push_back(Found("pod-absent",
                      fmt::format("not found in namespace {}{}", facts.wanted_space,
                                  near ? fmt::format("; did you mean {}?", *near) : std::string()),
                      {fmt::format("kubectl get pods -n {}", ShellWord(facts.wanted_space))}));
  for (auto event = facts.events.rbegin(); event != facts.events.rend(); ++event) {
    if (event->space != facts.wanted_space || !Makes(*event, facts.wanted_name)) {
      continue;
    }
    const std::string_view id = IdOf(event->message);
    const bool is_reported =
        std::ranges::any_of(out, [&](const report::Finding& r) { return r.id == id; });
    if (!is_reported) {
      out.push_back(Found(id, fmt::format("{} {}: {}", event->kind, event->name, event->message),
                          FixOf(id, *event)));
    }
  }
  return out;
}

}  // namespace kgpu::explain
