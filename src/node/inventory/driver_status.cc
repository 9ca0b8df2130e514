#include "src/node/inventory/driver_status.h"

#include <fmt/chrono.h>

#include <chrono>

#include "src/gpu/nvml/error_map.h"

namespace kgpu::inventory {
namespace {

using device::DriverState;
using host::LibraryAnswer;
using probe::DownCause;

LibraryAnswer AnswerOf(const probe::Down& down) {
  if (down.cause == DownCause::kNoLibrary) {
    return LibraryAnswer::kLibraryNotFound;
  }
  if (down.cause != DownCause::kInitFailed) {
    return LibraryAnswer::kOther;
  }
  switch (down.result) {
    case nvml::kErrorDriverNotLoaded:
      return LibraryAnswer::kDriverNotLoaded;
    case nvml::kErrorNoPermission:
    case nvml::kErrorOperatingSystem:
      return LibraryAnswer::kNoPermission;
    case nvml::kErrorLibRmVersionMismatch:
      return LibraryAnswer::kVersionMismatch;
    default:
      return LibraryAnswer::kOther;
  }
}

host::DriverVerdict Judge(const probe::Down& down, const host::DriverFacts& facts,
                          const HostView& view) {
  switch (down.cause) {
    case DownCause::kUnresponsive:
      return {DriverState::kUnresponsive,
              fmt::format("The driver does not respond: {}. Read dmesg for NVRM and Xid lines; "
                          "restart the host if it persists.",
                          down.text)};
    case DownCause::kNotStarted:
      return {DriverState::kFailed, fmt::format("The driver cannot be queried: {}.", down.text)};
    case DownCause::kCrashed:
      return {DriverState::kFailed,
              fmt::format(
                  "The driver query failed: {}. Read dmesg; reinstall the driver if it persists.",
                  down.text)};
    case DownCause::kNoLibrary:
    case DownCause::kLoadFailed:
    case DownCause::kInitFailed:
      break;
  }
  return host::ExplainDriver(facts, view.pci, AnswerOf(down), down.text);
}

}  // namespace

bool IsPassing(const probe::Down& down) {
  return down.was_up &&
         (down.cause == probe::DownCause::kCrashed ||
          (down.cause == probe::DownCause::kInitFailed && !nvml::IsDriverGone(down.result)));
}

std::string ExplainSilence(WallTime since) {
  return fmt::format(
      "The driver has not answered since {:%H:%M:%S} UTC. One that is not loaded yet can take 30 s "
      "(nvidia-persistenced keeps it loaded); if it stays silent, read dmesg for NVRM and Xid "
      "lines "
      "and restart the host.",
      fmt::gmtime(std::chrono::system_clock::to_time_t(since)));
}

device::Driver ExplainDown(const probe::Down& down, const host::DriverFacts& facts,
                           const HostView& view) {
  host::DriverVerdict verdict = Judge(down, facts, view);
  device::Driver driver;
  driver.state = verdict.state;
  driver.reason = std::move(verdict.reason);
  driver.module_version = facts.module_version;
  return driver;
}

device::Health HealthWithout(const device::Driver& driver) {
  const bool hangs = driver.state == DriverState::kUnresponsive;
  return {false, hangs ? "DriverUnresponsive" : "DriverNotReady", driver.reason};
}

device::Driver ReadyDriver(const probe::DriverReport& report, const std::string& library_path,
                           const sys::Root& host) {
  device::Driver driver;
  driver.state = DriverState::kReady;
  driver.version = report.driver_version;
  driver.nvml_version = report.nvml_version;
  driver.library_path = library_path;
  if (report.cuda_version) {
    driver.cuda_major = *report.cuda_version / 1000;
    driver.cuda_minor = *report.cuda_version % 1000 / 10;
  }
  if (const auto text = host.ReadFile("proc/driver/nvidia/version"); text.ok()) {
    if (const auto module = host::ParseNvrmVersion(*text); module.ok()) {
      driver.module_version = module->version;
    }
  }
  return driver;
}

}  // namespace kgpu::inventory
