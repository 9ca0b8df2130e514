#include "src/node/dra/checkpoint.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include <utility>

#include "src/platform/base/stable_hash.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/saved_fields.h"

namespace kgpu::dra {
namespace {

namespace json = boost::json;

constexpr uint64_t kVersion = 1;
// Raised when older programs would do harm with what they do not understand.
constexpr uint64_t kLowestReader = 1;

std::string ChecksumOf(const json::value& state) {
  return fmt::format("{:016x}", StableHash(json::serialize(state)));
}

json::object MadeJson(const MadeInstance& made) {
  json::object object = {{"gpu", made.gpu}, {"profile", made.profile}, {"start", made.start}};
  if (made.gpu_instance) {
    object["gpuInstance"] = *made.gpu_instance;
  }
  if (made.compute_instance) {
    object["computeInstance"] = *made.compute_instance;
  }
  return object;
}

json::object DeviceJson(const PreparedDevice& device) {
  json::object object = {{"request", device.request},
                         {"pool", device.pool},
                         {"device", device.device},
                         {"shareID", device.share_id},
                         {"uuid", device.device_uuid},
                         {"slots", json::value_from(device.slots)},
                         {"cdi", json::value_from(device.cdi_ids)},
                         {"admin", device.is_admin}};
  if (device.made) {
    object["made"] = MadeJson(*device.made);
  }
  if (device.mps) {
    object["mps"] = {{"threads", device.mps->threads}, {"memoryMiB", device.mps->memory.mebi()}};
  }
  if (device.time_slice != TimeSlice::kDefault) {
    object["timeSlice"] = static_cast<unsigned>(device.time_slice);
  }
  return object;
}

std::vector<std::string> TextsIn(const json::object& object, std::string_view key) {
  std::vector<std::string> texts;
  const json::value* list = object.if_contains(key);
  for (const json::value& item :
       list != nullptr && list->is_array() ? list->get_array() : json::array()) {
    if (item.is_string()) {
      texts.emplace_back(item.get_string());
    }
  }
  return texts;
}

std::string TextIn(const json::object& object, std::string_view key) {
  return std::string(doc::SavedFields(object).Text(key));
}

PreparedDevice ReadDevice(const json::object& object) {
  const doc::SavedFields fields(object);
  PreparedDevice device{.request = TextIn(object, "request"),
                        .pool = TextIn(object, "pool"),
                        .device = TextIn(object, "device"),
                        .share_id = TextIn(object, "shareID"),
                        .device_uuid = TextIn(object, "uuid"),
                        .slots = TextsIn(object, "slots"),
                        .cdi_ids = TextsIn(object, "cdi")};
  device.is_admin = fields.Flag("admin");
  const json::value* made = object.if_contains("made");
  if (made != nullptr && made->is_object()) {
    const doc::SavedFields of(made->get_object());
    device.made = MadeInstance{.gpu = TextIn(made->get_object(), "gpu"),
                               .profile = TextIn(made->get_object(), "profile"),
                               .start = of.Small("start").value_or(0),
                               .gpu_instance = of.Small("gpuInstance"),
                               .compute_instance = of.Small("computeInstance")};
  }
  const json::value* mps = object.if_contains("mps");
  if (mps != nullptr && mps->is_object()) {
    const doc::SavedFields of(mps->get_object());
    device.mps = MpsLimits{.threads = of.Small("threads").value_or(100),
                           .memory = MebiBytes(of.Number("memoryMiB").value_or(0))};
  }
  const unsigned slice = fields.Small("timeSlice").value_or(0);
  if (slice <= static_cast<unsigned>(TimeSlice::kLong)) {
    device.time_slice = static_cast<TimeSlice>(slice);
  }
  return device;
}

PreparedClaim ReadClaim(const json::object& object) {
  PreparedClaim claim{.space = TextIn(object, "namespace"), .name = TextIn(object, "name")};
  claim.is_complete = doc::SavedFields(object).Flag("complete");
  const json::value* devices = object.if_contains("devices");
  for (const json::value& item :
       devices != nullptr && devices->is_array() ? devices->get_array() : json::array()) {
    if (item.is_object()) {
      claim.devices.push_back(ReadDevice(item.get_object()));
    }
  }
  return claim;
}

}  // namespace

std::string PrintCheckpoint(const Checkpoint& checkpoint) {
  json::object claims;
  for (const auto& [uid, claim] : checkpoint.claims) {
    json::array devices;
    for (const PreparedDevice& device : claim.devices) {
      devices.push_back(DeviceJson(device));
    }
    claims[uid] = {{"namespace", claim.space},
                   {"name", claim.name},
                   {"complete", claim.is_complete},
                   {"devices", std::move(devices)}};
  }
  json::object state = {{"bootID", checkpoint.boot_id}, {"claims", std::move(claims)}};
  if (checkpoint.has_lost) {
    state["hasLost"] = true;
  }
  return json::serialize(json::object{{"version", kVersion},
                                      {"lowestReader", kLowestReader},
                                      {"checksum", ChecksumOf(state)},
                                      {"state", state}}) +
         "\n";
}

StatusOr<Checkpoint> ParseCheckpoint(std::string_view text) {
  ASSIGN_OR_RETURN(const json::value root, doc::Parse(text, doc::Format::kJson, "checkpoint"));
  const json::object* object = root.if_object();
  const json::value* state = object == nullptr ? nullptr : object->if_contains("state");
  if (state == nullptr || !state->is_object()) {
    return InvalidArgument("checkpoint: it has no state");
  }
  const doc::SavedFields fields(*object);
  if (const auto reader = fields.Number("lowestReader"); !reader || *reader > kVersion) {
    return FailedPrecondition(
        "checkpoint: version {} of a later kgpu, which this one cannot read: use that one",
        fields.Number("version").value_or(0));
  }
  if (fields.Text("checksum") != ChecksumOf(*state)) {
    return InvalidArgument("checkpoint: its checksum is {}, and that of its content is {}",
                           fields.Text("checksum"), ChecksumOf(*state));
  }
  Checkpoint checkpoint{.boot_id = TextIn(state->get_object(), "bootID")};
  checkpoint.has_lost = doc::SavedFields(state->get_object()).Flag("hasLost");
  const json::value* claims = state->get_object().if_contains("claims");
  if (claims == nullptr || !claims->is_object()) {
    return InvalidArgument("checkpoint: it has no claims");
  }
  for (const auto& [uid, claim] : claims->get_object()) {
    if (claim.is_object()) {
      checkpoint.claims.emplace(std::string(uid), ReadClaim(claim.get_object()));
    }
  }
  return checkpoint;
}

}  // namespace kgpu::dra
