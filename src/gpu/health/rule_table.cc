#include "src/gpu/health/rule_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "src/gpu/health/xid_rows.h"

namespace kgpu::health {
namespace {

using enum FaultClass;
using enum Action;
using std::chrono::seconds;

constexpr std::string_view kXidPrefix = "Xid";

constexpr std::string_view kUnknownXid =
    "a code unknown to this version: see NVIDIA's XID catalog and dmesg, reset the GPU";

// Sorted by name. Those with `lasts` or `limit` are measured.
constexpr std::array kNamed = {
    Rule{.name = "DriverError",
         .fault_class = kDriver,
         .action = kResetGpu,
         .is_unhealthy = true,
         .text = "the driver returns errors for this GPU: read dmesg, reset the GPU",
         .is_certain = true},
    Rule{.name = "DriverUnresponsive",
         .fault_class = kDriver,
         .action = kReboot,
         .is_unhealthy = true,
         .text = "a driver call did not return: read dmesg, restart the host if it persists",
         .is_certain = true},
    Rule{.name = "EccDoubleBit",
         .fault_class = kMemory,
         .action = kResetGpu,
         .is_unhealthy = true,
         .text = "an uncorrectable memory error: drain the node and reset the GPU"},
    Rule{.name = "EccUncorrected",
         .fault_class = kMemory,
         .action = kResetGpu,
         .is_unhealthy = true,
         .text =
             "the number of uncorrectable ECC errors has risen: drain the node and reset the GPU",
         .limit = 1,
         .limit_unit = "new errors"},
    Rule{.name = "FabricDegraded",
         .fault_class = kNvLink,
         .action = kInspect,
         .text = "NVLink runs at reduced bandwidth or over new routes: check the "
                 "nvidia-fabricmanager log",
         .is_standing = true,
         .lasts = seconds(60)},
    Rule{.name = "FabricFailed",
         .fault_class = kNvLink,
         .action = kInspect,
         .is_unhealthy = true,
         .text = "the NVLink fabric rejected the GPU or has no healthy route to it, so CUDA fails: "
                 "check the nvidia-fabricmanager log",
         .is_standing = true},
    Rule{.name = "FabricNotReady",
         .fault_class = kNvLink,
         .action = kInspect,
         .is_unhealthy = true,
         .text = "the GPU is not registered with the NVLink fabric, so CUDA does not start: "
                 "start nvidia-fabricmanager and check its log",
         .is_standing = true,
         .lasts = seconds(60)},
    Rule{.name = "GpuLost",
         .fault_class = kBus,
         .action = kReboot,
         .is_unhealthy = true,
         .text = "the GPU has fallen off the bus: read dmesg for Xid lines, restart the host",
         .is_certain = true},
    Rule{.name = "GpuUnavailable",
         .fault_class = kBus,
         .action = kReboot,
         .is_unhealthy = true,
         .text = "the driver lost the GPU: read dmesg, reset the GPU or restart the host",
         .is_certain = true},
    Rule{.name = "NoDeviceNode",
         .fault_class = kDriver,
         .action = kInspect,
         .is_unhealthy = true,
         .text = "the GPU's device node is unknown: mount the host's /proc",
         .is_certain = true},
    Rule{
        .name = "NvLinkCrcErrors",
        .fault_class = kNvLink,
        .action = kInspect,
        .text = "many NVLink transfers are corrupted and sent again: check the link if it persists",
        .is_standing = true,
        .limit = 6'000,
        .limit_unit = "errors per minute"},
    Rule{.name = "NvLinkDown",
         .fault_class = kNvLink,
         .action = kResetGpu,
         .text =
             "an NVLink is down that was up, or is up on other GPUs of this model: check its other "
             "end, reset the GPU",
         .is_standing = true},
    Rule{.name = "NvLinkErrors",
         .fault_class = kNvLink,
         .action = kInspect,
         .text = "NVLink replayed or recovered too often: check the link if it persists",
         .is_standing = true,
         .limit = 10,
         .limit_unit = "errors per minute"},
    Rule{.name = "NvLinkFatal",
         .fault_class = kNvLink,
         .action = kResetGpu,
         .is_unhealthy = true,
         .text = "an NVLink failed permanently (XID 144 to 150, fatal): reset the GPU, check the "
                 "link and its other end if it recurs"},
    Rule{.name = "NvSwitchError",
         .fault_class = kNvLink,
         .action = kInspect,
         .text = "an NVSwitch reports an error from which it recovered: watch it"},
    Rule{
        .name = "NvSwitchFatal",
        .fault_class = kNvLink,
        .action = kResetGpu,
        .is_unhealthy = true,
        .text = "an NVSwitch failed: drain the node, reset all its GPUs and the switches together"},
    Rule{.name = "PcieDowngrade",
         .fault_class = kPcie,
         .action = kInspect,
         .text = "the PCIe link is narrower than before or than its siblings', or slow under load: "
                 "check seat, riser and BIOS",
         .is_standing = true,
         .lasts = seconds(60),
         .limit = 50,
         .limit_unit = "percent busy"},
    Rule{.name = "PcieReplays",
         .fault_class = kPcie,
         .action = kInspect,
         .text = "many PCIe transfers are replayed: check seat and riser",
         .is_standing = true,
         .limit = 60,
         .limit_unit = "replays per minute"},
    Rule{.name = "PowerBrake",
         .fault_class = kPower,
         .action = kInspect,
         .text = "the server slows down the GPU to save power: check its power supplies and limits",
         .is_standing = true,
         .lasts = seconds(60)},
    Rule{.name = "ProbeDied",
         .fault_class = kDriver,
         .action = kReboot,
         .is_unhealthy = true,
         .text = "the driver's library crashes repeatedly: reinstall the driver",
         .is_certain = true},
    Rule{.name = "RecoveryDrainP2p",
         .fault_class = kNvLink,
         .action = kDrain,
         .is_unhealthy = true,
         .text = "the driver requests that all NVLink workloads stop: drain the node",
         .is_standing = true},
    Rule{.name = "RecoveryDrainReset",
         .fault_class = kDriver,
         .action = kDrain,
         .is_unhealthy = true,
         .text = "the driver requests that the GPU's workloads stop and the GPU is reset: drain, "
                 "then reset the GPU",
         .is_standing = true},
    Rule{.name = "RecoveryReboot",
         .fault_class = kDriver,
         .action = kReboot,
         .is_unhealthy = true,
         .text = "the driver requests a restart of the host: drain the node and restart it",
         .is_standing = true},
    Rule{.name = "RecoveryReset",
         .fault_class = kDriver,
         .action = kResetGpu,
         .is_unhealthy = true,
         .text = "the driver requests a reset: stop the GPU's programs and reset it",
         .is_standing = true},
    Rule{.name = "ResetRequired",
         .fault_class = kDriver,
         .action = kResetGpu,
         .is_unhealthy = true,
         .text = "the GPU must be reset: stop its programs, then run nvidia-smi --gpu-reset",
         .is_certain = true},
    Rule{.name = "RetiredPagesMany",
         .fault_class = kMemory,
         .action = kInspect,
         .is_unhealthy = true,
         .text = "nearly the maximum number of memory pages is retired: replace the GPU",
         .is_standing = true,
         .limit = 60,
         .limit_unit = "pages"},
    Rule{.name = "RetiredPagesPending",
         .fault_class = kMemory,
         .action = kResetGpu,
         .text = "memory pages are pending retirement: reset the GPU at the next opportunity",
         .is_standing = true},
    Rule{.name = "RowRemapFailed",
         .fault_class = kMemory,
         .action = kInspect,
         .is_unhealthy = true,
         .text = "a bad memory row could not be remapped: replace the GPU",
         .is_standing = true},
    Rule{.name = "RowRemapPending",
         .fault_class = kMemory,
         .action = kResetGpu,
         .text = "a row remap is pending: reset the GPU at the next opportunity",
         .is_standing = true},
    Rule{.name = "SramThreshold",
         .fault_class = kMemory,
         .action = kInspect,
         .is_unhealthy = true,
         .text = "the GPU's SRAM had more uncorrectable errors than its limit: replace the GPU",
         .is_standing = true},
    Rule{.name = "ThermalSlowdown",
         .fault_class = kThermal,
         .action = kInspect,
         .text = "the GPU is so hot that it slows down: check fans, air flow and room temperature",
         .is_standing = true,
         .lasts = seconds(60)},
};
static_assert(std::ranges::is_sorted(kNamed, {}, &Rule::name));

Rule RuleOfRow(const XidRow& row, uint64_t xid) {
  return {.xid = xid,
          .fault_class = row.fault_class,
          .action = row.action,
          .is_unhealthy = row.is_unhealthy,
          .text = row.text};
}

}  // namespace

std::string NameOf(const Rule& rule) {
  return rule.xid ? fmt::format("{}{}", kXidPrefix, *rule.xid) : std::string(rule.name);
}

std::string MessageOf(const Rule& rule) {
  if (rule.xid) {
    return fmt::format("XID {}: {}.", *rule.xid, rule.text);
  }
  std::string message = fmt::format("{}.", rule.text);
  // The texts are plain ASCII.
  if (message.front() >= 'a' && message.front() <= 'z') {
    message.front() = static_cast<char>(message.front() - 'a' + 'A');
  }
  return message;
}

Rule RuleOfXid(uint64_t xid) {
  for (const XidRow& row : XidRows()) {
    if (xid >= row.first && xid <= row.last) {
      return RuleOfRow(row, xid);
    }
  }
  return {.xid = xid,
          .fault_class = kOther,
          .action = kResetGpu,
          .is_unhealthy = true,
          .text = kUnknownXid};
}

const Rule* FindNamedRule(std::string_view name) {
  const auto* found = std::ranges::lower_bound(kNamed, name, {}, &Rule::name);
  return found != kNamed.end() && found->name == name ? found : nullptr;
}

std::optional<Rule> FindRule(std::string_view name) {
  if (const Rule* rule = FindNamedRule(name)) {
    return *rule;
  }
  if (!name.starts_with(kXidPrefix)) {
    return std::nullopt;
  }
  const std::string_view digits = name.substr(kXidPrefix.size());
  uint32_t xid = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), xid);
  const bool is_plain = !digits.empty() && digits.front() != '0';
  if (!is_plain || error != std::errc() || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return RuleOfXid(xid);
}

std::vector<Rule> AllRules() {
  std::vector<Rule> rules;
  for (const XidRow& row : XidRows()) {
    for (uint64_t xid = row.first; xid <= row.last; ++xid) {
      rules.push_back(RuleOfRow(row, xid));
    }
  }
  rules.insert(rules.end(), kNamed.begin(), kNamed.end());
  return rules;
}

}  // namespace kgpu::health
