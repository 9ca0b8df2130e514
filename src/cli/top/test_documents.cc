#include "src/cli/top/test_documents.h"

#include <boost/json.hpp>

#include <fmt/format.h>

namespace kgpu::top {
namespace {

namespace json = boost::json;

constexpr uint64_t kGib = uint64_t{1} << 30;
constexpr size_t kGpus = 16;
constexpr size_t kPods = 110;

json::object UserOf(size_t number) {
  static constexpr const char* kSpaces[] = {"team-a", "team-b", "research"};
  json::object user = {
      {"namespace", kSpaces[number % 3]},
      {"pod", fmt::format("train-{:03}", number)},
      {"container", "main"},
      {"slots", number % 5 == 0 ? 2 : 1},
      {"memory", {{"used", (number % 7 + 1) * kGib}, {"limit", 10 * kGib}, {"peak", 9 * kGib}}},
      {"sm", number % 100},
      {"processes", {{{"pid", 4000 + number}, {"name", "python3"}, {"memory", kGib}}}}};
  if (number % 4 == 0) {
    user["claim"] = fmt::format("gpu-{}", number);
  }
  return user;
}

json::object HistoryOf(size_t gpu) {
  json::array utilization;
  json::array memory;
  for (size_t i = 0; i < 360; ++i) {
    utilization.push_back(i < 40 ? json::value() : json::value((i * (gpu + 1)) % 101));
    memory.push_back(i / 4 + gpu);
  }
  return {{"stepSeconds", 10}, {"utilization", utilization}, {"memory", memory}};
}

json::object FiguresOf(size_t gpu) {
  return {{"index", gpu},
          {"uuid", fmt::format("GPU-{:02}", gpu)},
          {"model", "H100-SXM5-80GB"},
          {"pci", fmt::format("0000:{:02x}:00.0", gpu)},
          {"numaNode", gpu / 8},
          {"healthy", true},
          {"reason", ""},
          {"message", ""},
          {"warnings", json::array()},
          {"utilization", {{"gpu", gpu * 6}, {"memory", gpu * 3}, {"encoder", 0}, {"decoder", 0}}},
          {"memory", {{"total", 80 * kGib}, {"used", gpu * 5 * kGib}}},
          {"temperature", {{"gpu", 40 + gpu * 3}, {"memory", 50 + gpu}, {"slowdown", 90}}},
          {"power", {{"watts", 100.5 + static_cast<double>(gpu) * 40}, {"limit", 700}}},
          {"clocks", {{"sm", 1980}, {"memory", 2619}, {"maxSm", 1980}}},
          {"throttled", json::array()},
          {"pool", "nvidia.com/gpu"},
          {"nvlinks", {{{"peer", (gpu + 1) % kGpus}, {"links", 18}}}},
          {"mig", json::array()},
          {"users", json::array()},
          {"processes", json::array()},
          {"history", HistoryOf(gpu)}};
}

}  // namespace

std::string BusyNode() {
  json::array gpus;
  size_t pod = 0;
  for (size_t i = 0; i < kGpus; ++i) {
    json::object gpu = FiguresOf(i);
    const size_t parts = i < 8 ? 7 : 0;
    for (size_t part = 0; part < parts; ++part) {
      gpu["mig"].as_array().push_back({{"uuid", fmt::format("MIG-{}-{}", i, part)},
                                       {"index", part},
                                       {"profile", "1g.10gb"},
                                       {"gpuInstance", part + 7},
                                       {"memory", {{"total", 10 * kGib}, {"used", part * kGib}}},
                                       {"healthy", true},
                                       {"reason", ""},
                                       {"message", ""},
                                       {"pool", "nvidia.com/mig-1g.10gb"},
                                       {"users", {UserOf(pod++)}}});
    }
    for (; i >= 8 && i < 15 && pod < kPods && pod < 56 + (i - 7) * 8; ++pod) {
      gpu["users"].as_array().push_back(UserOf(pod));
    }
    gpus.push_back(std::move(gpu));
  }
  gpus[3].as_object()["throttled"] = {"power cap", "thermal"};
  json::object& broken = gpus[9].as_object();
  broken["healthy"] = false;
  broken["reason"] = "Xid79";
  broken["message"] = "the GPU has fallen off the bus: drain the node and reboot it";
  gpus[10].as_object()["warnings"] = json::array({"row remapping is pending: reset the GPU"});
  json::object& lent = gpus[15].as_object();
  lent["lentTo"] = "fn/hello/4f1c";
  lent["processes"] = {{{"pid", 4711}, {"name", "\x1b[31mevil"}, {"memory", 300 << 20}}};
  return json::serialize(json::object{
      {"node", "n1"},
      {"time", "2026-11-29T21:00:00Z"},
      {"agent", "0.1.0"},
      {"everySeconds", 2},
      {"measured", "2026-11-29T20:59:59Z"},
      {"ready", true},
      {"problem", ""},
      {"driver",
       {{"state", "ready"}, {"version", "570.86.15"}, {"cudaVersion", "12.8"}, {"reason", ""}}},
      {"gpus", std::move(gpus)},
      {"pools",
       {{{"name", "nvidia.com/gpu"}, {"total", 8}, {"used", 7}, {"unhealthy", 1}},
        {{"name", "nvidia.com/mig-1g.10gb"}, {"total", 56}, {"used", 56}, {"unhealthy", 0}}}}});
}

}  // namespace kgpu::top
