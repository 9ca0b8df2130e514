#include "src/node/dra/allocation.h"

#include <boost/json.hpp>

#include <algorithm>

#include "src/kube/api/json.h"
#include "src/node/dra/offer.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::dra {
namespace {

namespace json = boost::json;
using kube::FindField;
using kube::TextField;

const json::array& ListOf(const json::value& object, std::initializer_list<std::string_view> path) {
  static const json::array kNone;
  const json::value* list = FindField(object, path);
  return list != nullptr && list->is_array() ? list->get_array() : kNone;
}

std::string_view BaseOf(std::string_view request) {
  return request.substr(0, request.find('/'));
}

// Whether an entry of the configuration is for results of this request.
bool IsFor(const json::value& config, std::string_view request) {
  const json::array& requests = ListOf(config, {"requests"});
  return requests.empty() || std::ranges::any_of(requests, [&](const json::value& name) {
           return name.is_string() && (std::string_view(name.get_string()) == request ||
                                       std::string_view(name.get_string()) == BaseOf(request));
         });
}

// The last entry that applies counts: those of the class come first, and the claim's own win.
StatusOr<Parameters> ParametersFor(const json::value& claim, std::string_view request,
                                   DeviceType type) {
  const json::array& configs = ListOf(claim, {"status", "allocation", "devices", "config"});
  for (size_t i = configs.size(); i-- > 0;) {
    const json::value& config = configs[i];
    const json::value* parameters = FindField(config, {"opaque", "parameters"});
    if (parameters != nullptr && TextField(config, {"opaque", "driver"}) == kDriverName &&
        IsFor(config, request)) {
      const bool is_class = TextField(config, {"source"}) == "FromClass";
      return ParseParameters(
          *parameters, type,
          is_class ? "the parameters of the device class" : "the parameters of the claim");
    }
  }
  return Parameters();
}

StatusOr<AllocatedDevice> ReadResult(const json::value& claim, const json::value& result) {
  AllocatedDevice device{.request = std::string(BaseOf(TextField(result, {"request"}))),
                         .pool = std::string(TextField(result, {"pool"})),
                         .device = std::string(TextField(result, {"device"})),
                         .share_id = std::string(TextField(result, {"shareID"}))};
  const json::value* admin = FindField(result, {"adminAccess"});
  device.is_admin = admin != nullptr && admin->is_bool() && admin->get_bool();
  const json::value* consumed = FindField(result, {"consumedCapacity"});
  if (consumed != nullptr && consumed->is_object()) {
    for (const auto& [name, amount] : consumed->get_object()) {
      if (amount.is_string()) {
        device.consumed[std::string(name)] = std::string(amount.get_string());
      }
    }
  }
  const bool is_mig = device.device.find("-mig-") != std::string::npos;
  ASSIGN_OR_RETURN(device.parameters, ParametersFor(claim, TextField(result, {"request"}),
                                                    is_mig ? DeviceType::kMig : DeviceType::kGpu));
  return device;
}

}  // namespace

StatusOr<Allocation> ReadAllocation(const json::value& claim, std::string_view uid) {
  Allocation read{.space = std::string(kube::NamespaceOf(claim)),
                  .name = std::string(kube::NameOf(claim)),
                  .uid = std::string(TextField(claim, {"metadata", "uid"}))};
  if (read.uid != uid) {
    return NotFound("claim {}/{} is another one by now: its UID is {}, not {}", read.space,
                    read.name, read.uid, uid);
  }
  if (FindField(claim, {"status", "allocation"}) == nullptr) {
    return NotFound("claim {}/{} is not allocated", read.space, read.name);
  }
  for (const json::value& result : ListOf(claim, {"status", "allocation", "devices", "results"})) {
    if (TextField(result, {"driver"}) == kDriverName) {
      ASSIGN_OR_RETURN(AllocatedDevice device, ReadResult(claim, result));
      read.devices.push_back(std::move(device));
    }
  }
  return read;
}

}  // namespace kgpu::dra
