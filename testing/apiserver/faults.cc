#include "testing/apiserver/faults.h"

#include <algorithm>

#include <boost/json.hpp>

#include "testing/apiserver/json_fields.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

bool Hits(const Fault& fault, const RequestTraits& request) {
  const auto is = [](const std::string& wanted, const std::string& value) {
    return wanted.empty() || wanted == value;
  };
  return fault.kind != FaultKind::kAway && fault.count != 0 && is(fault.verb, request.verb) &&
         is(fault.resource, request.resource) && is(fault.token, request.token) &&
         request.user_agent.starts_with(fault.user_agent);
}

}  // namespace

StatusOr<Fault> ParseFault(const json::object& text) {
  static const std::map<std::string_view, FaultKind> kKinds = {
      {"away", FaultKind::kAway},
      {"answer", FaultKind::kAnswer},
      {"watchError", FaultKind::kWatchError},
      {"reset", FaultKind::kReset},
      {"cut", FaultKind::kCut},
      {"delay", FaultKind::kDelay},
      {"trickle", FaultKind::kTrickle}};
  static constexpr std::string_view kFields[] = {"kind",  "verb",  "resource",   "userAgent",
                                                 "token", "code",  "retryAfter", "delayMs",
                                                 "bytes", "count", "seconds"};
  for (const auto& [name, value] : text) {
    if (std::ranges::find(kFields, std::string_view(name.data(), name.size())) ==
        std::end(kFields)) {
      return InvalidArgument("fault: unknown field \"{}\"",
                             std::string_view(name.data(), name.size()));
    }
  }
  const auto kind = kKinds.find(TextAt(text, {"kind"}));
  if (kind == kKinds.end()) {
    return InvalidArgument(
        "fault: kind must be away, answer, watchError, reset, cut, delay or "
        "trickle");
  }
  const json::value* seconds = text.if_contains("seconds");
  const double lasts =
      seconds != nullptr && seconds->is_number() ? seconds->to_number<double>() : -1;
  return Fault{
      .kind = kind->second,
      .verb = std::string(TextAt(text, {"verb"})),
      .resource = std::string(TextAt(text, {"resource"})),
      .user_agent = std::string(TextAt(text, {"userAgent"})),
      .token = std::string(TextAt(text, {"token"})),
      .code = static_cast<int>(NumberAt(text, {"code"}, 500)),
      .retry_after = std::chrono::seconds(NumberAt(text, {"retryAfter"}, 0)),
      .delay = std::chrono::milliseconds(NumberAt(text, {"delayMs"}, 0)),
      .bytes = static_cast<size_t>(std::max<int64_t>(0, NumberAt(text, {"bytes"}, 0))),
      .count = static_cast<int>(NumberAt(text, {"count"}, -1)),
      .lasts_for = std::chrono::milliseconds(lasts < 0 ? -1 : static_cast<int64_t>(lasts * 1000))};
}

Faults::~Faults() {
  for (const auto& [id, entry] : faults_) {
    loop_.CancelTimer(entry.timer);
  }
}

uint64_t Faults::Add(Fault fault) {
  const bool was_away = is_away();
  const uint64_t id = ++last_id_;
  Entry& entry = faults_[id];
  entry.fault = std::move(fault);
  if (entry.fault.lasts_for.count() >= 0) {
    entry.timer = loop_.After(entry.fault.lasts_for, [this, id] { Remove(id); });
  }
  LogAway(was_away);
  return id;
}

void Faults::Remove(uint64_t id) {
  const bool was_away = is_away();
  Forget(id);
  LogAway(was_away);
}

void Faults::Forget(uint64_t id) {
  if (const auto found = faults_.find(id); found != faults_.end()) {
    loop_.CancelTimer(found->second.timer);
    faults_.erase(found);
  }
}

void Faults::Clear() {
  const bool was_away = is_away();
  while (!faults_.empty()) {
    Forget(faults_.begin()->first);
  }
  LogAway(was_away);
}

bool Faults::is_away() const {
  return std::ranges::any_of(
      faults_, [](const auto& entry) { return entry.second.fault.kind == FaultKind::kAway; });
}

void Faults::LogAway(bool was_away) {
  if (was_away == is_away()) {
    return;
  }
  for (const auto& listener : listeners_) {
    listener(!was_away);
  }
}

std::vector<Fault> Faults::Take(const RequestTraits& request) {
  std::vector<Fault> taken;
  for (auto& [id, entry] : faults_) {
    if (Hits(entry.fault, request)) {
      entry.fault.count -= entry.fault.count > 0 ? 1 : 0;
      taken.push_back(entry.fault);
    }
  }
  return taken;
}

}  // namespace kgpu::apiserver
