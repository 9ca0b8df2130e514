#include "src/cluster/fleet/record.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>

#include "src/kube/api/json.h"
#include "src/platform/base/stable_hash.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/time_text.h"

namespace kgpu::fleet {
namespace {

namespace json = boost::json;
using kube::TextField;

constexpr std::array<std::string_view, 5> kStates = {"wait", "evict", "install", "validate",
                                                     "failed"};
constexpr std::array<std::string_view, 3> kSources = {"host", "package", "container"};

template <size_t N>
StatusOr<size_t> IndexOf(const std::array<std::string_view, N>& words, std::string_view key,
                         std::string_view word) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) {
    return InvalidArgument("{}: \"{}\" is unknown", key, word);
  }
  return static_cast<size_t>(found - words.begin());
}

uint32_t CountAt(const json::value& value, std::string_view key) {
  const int64_t number = kube::IntField(value, {key}).value_or(0);
  return static_cast<uint32_t>(std::clamp<int64_t>(number, 0, 1'000));
}

bool FlagAt(const json::value& value, std::string_view key) {
  const json::value* flag = kube::FindField(value, {key});
  return flag != nullptr && flag->is_bool() && flag->get_bool();
}

void Put(json::object& object, const char* key, const std::string& text) {
  if (!text.empty()) {
    object[key] = text;
  }
}

void PutFlag(json::object& object, const char* key, bool is_set) {
  if (is_set) {
    object[key] = true;
  }
}

}  // namespace

std::string_view NameOf(UpgradeState state) {
  return kStates.at(static_cast<size_t>(state));
}

std::string PrintRecord(const UpgradeRecord& record) {
  json::object object = {{"state", NameOf(record.state)}, {"since", FormatTime(record.since)}};
  Put(object, "from", record.from);
  object["to"] = record.to;
  object["source"] = policy::NameOf(record.source);
  object["policy"] = record.policy;
  object["group"] = record.group;
  object["attempt"] = record.attempt;
  PutFlag(object, "single", record.is_single);
  object["cordoned"] = record.is_cordoned;
  Put(object, "pod", record.pod);
  if (record.state == UpgradeState::kFailed) {
    object["failedIn"] = NameOf(record.failed_in);
  }
  Put(object, "reason", record.reason);
  Put(object, "message", record.message);
  return json::serialize(object);
}

StatusOr<UpgradeRecord> ParseUpgradeRecord(std::string_view text) {
  ASSIGN_OR_RETURN(const json::value value, kube::ParseObject(text, "upgrade record"));
  UpgradeRecord record;
  ASSIGN_OR_RETURN(const size_t state, IndexOf(kStates, "state", TextField(value, {"state"})));
  ASSIGN_OR_RETURN(const size_t source, IndexOf(kSources, "source", TextField(value, {"source"})));
  record.state = static_cast<UpgradeState>(state);
  record.source = static_cast<policy::DriverSource>(source);
  ASSIGN_OR_RETURN(record.since, ParseTime(TextField(value, {"since"})));
  if (record.state == UpgradeState::kFailed) {
    ASSIGN_OR_RETURN(const size_t before,
                     IndexOf(kStates, "failedIn", TextField(value, {"failedIn"})));
    record.failed_in = static_cast<UpgradeState>(before);
  }
  record.from = TextField(value, {"from"});
  record.to = TextField(value, {"to"});
  if (record.to.empty()) {
    return InvalidArgument("to is missing");
  }
  record.policy = TextField(value, {"policy"});
  record.group = TextField(value, {"group"});
  record.attempt = std::max(CountAt(value, "attempt"), 1U);
  record.is_single = FlagAt(value, "single");
  record.is_cordoned = FlagAt(value, "cordoned");
  record.pod = TextField(value, {"pod"});
  record.reason = TextField(value, {"reason"});
  record.message = TextField(value, {"message"});
  return record;
}

std::string PrintRecord(const FenceRecord& record) {
  json::object object = {{"state", record.is_validating ? "validating" : "fenced"},
                         {"since", FormatTime(record.since)}};
  Put(object, "reason", record.reason);
  Put(object, "message", record.message);
  object["policy"] = record.policy;
  object["group"] = record.group;
  object["attempt"] = record.attempt;
  PutFlag(object, "single", record.is_single);
  return json::serialize(object);
}

StatusOr<FenceRecord> ParseFenceRecord(std::string_view text) {
  ASSIGN_OR_RETURN(const json::value value, kube::ParseObject(text, "quarantine record"));
  FenceRecord record;
  record.is_validating = TextField(value, {"state"}) == "validating";
  ASSIGN_OR_RETURN(record.since, ParseTime(TextField(value, {"since"})));
  record.reason = TextField(value, {"reason"});
  record.message = TextField(value, {"message"});
  record.policy = TextField(value, {"policy"});
  record.group = TextField(value, {"group"});
  record.attempt = CountAt(value, "attempt");
  record.is_single = FlagAt(value, "single");
  return record;
}

std::string PodName(std::string_view role, std::string_view node_uid, WallTime since,
                    uint32_t attempt) {
  const uint64_t hash =
      StableHash(fmt::format("{}/{}/{}/{}", role, node_uid, FormatTime(since), attempt));
  return fmt::format("kgpu-{}-{:016x}", role, hash);
}

}  // namespace kgpu::fleet
