// What a check of `kgpu doctor` is: an entry of a table, and a pure function of what was seen.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kgpu::doctor {

struct Facts;

enum class Severity : uint8_t {
  kInfo,     // good to know; nothing fails because of it
  kWarning,  // works, though worse than it could, or not for long
  kError,    // GPUs can not be used as they should
};

// "info", "warning", "error".
std::string_view ToString(Severity severity);

// A mend that is nothing but a file: what it shall hold.
struct FileEdit {
  std::string path{};  // below the host's root
  std::string text{};
  std::optional<std::string> before{};  // the text this was made of; nothing: there was no file
  bool operator==(const FileEdit&) const = default;
};

struct Finding {
  std::string_view id{};  // of its check
  Severity severity = Severity::kInfo;
  std::string evidence{};           // what was seen, with names and values
  std::vector<std::string> mend{};  // commands, in order; "#" begins what a person has to do
  std::optional<FileEdit> fix{};    // what --fix writes; none: only a person may do it
  bool operator==(const Finding&) const = default;
};

// Takes what one check finds. A finding has the severity of its check, or less.
class Findings {
 public:
  void Add(std::string evidence, std::vector<std::string> mend,
           std::optional<FileEdit> fix = std::nullopt) {
    Finding finding;
    finding.severity = Severity::kError;
    finding.evidence = std::move(evidence);
    finding.mend = std::move(mend);
    finding.fix = std::move(fix);
    list_.push_back(std::move(finding));
  }
  // What the check looks for is there, and on this host it may well be meant so.
  void AddInfo(std::string evidence, std::vector<std::string> mend) {
    Add(std::move(evidence), std::move(mend));
    list_.back().severity = Severity::kInfo;
  }
  std::vector<Finding> Take() { return std::move(list_); }

 private:
  std::vector<Finding> list_;
};

struct Check {
  std::string_view id;     // "driver-nouveau-loaded": never changes
  std::string_view title;  // what is wrong when it finds something
  Severity severity = Severity::kInfo;
  std::string_view explain;  // why it matters and how the mend works, for --explain
  void (*run)(const Facts& facts, Findings& findings) = nullptr;
};

// The groups, from the hardware upwards.
std::span<const Check> PciChecks();
std::span<const Check> PlaceChecks();
std::span<const Check> EntitlementChecks();
std::span<const Check> KernelChecks();
std::span<const Check> NouveauChecks();
std::span<const Check> DriverChecks();
std::span<const Check> DeviceChecks();
std::span<const Check> ServiceChecks();
std::span<const Check> ContainerChecks();
std::span<const Check> CgroupDriverChecks();
std::span<const Check> KubeletChecks();
std::span<const Check> PluginChecks();
std::span<const Check> ClusterChecks();

}  // namespace kgpu::doctor
