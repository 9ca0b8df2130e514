#include "src/host/features/cpuid.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::features {
namespace {

#if defined(__x86_64__)
class RunningCpuid final : public CpuidReader {
 public:
  bool is_available() const override { return true; }
  CpuidRegisters Read(uint32_t leaf, uint32_t subleaf) override {
    CpuidRegisters out;
    __cpuid_count(leaf, subleaf, out.eax, out.ebx, out.ecx, out.edx);
    return out;
  }
  uint64_t Xcr0() override {
    uint32_t low = 0;
    uint32_t high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t{high} << 32) | low;
  }
};
#else
class RunningCpuid final : public CpuidReader {
 public:
  bool is_available() const override { return false; }
  CpuidRegisters Read(uint32_t, uint32_t) override { return {}; }
  uint64_t Xcr0() override { return 0; }
};
#endif

class RecordedCpuid final : public CpuidReader {
 public:
  // Leaf and subleaf.
  using Key = std::pair<uint32_t, uint32_t>;

  bool is_available() const override { return !leaves_.empty(); }
  CpuidRegisters Read(uint32_t leaf, uint32_t subleaf) override {
    const auto found = leaves_.find({leaf, subleaf});
    return found == leaves_.end() ? CpuidRegisters{} : found->second;
  }
  // Without a line for it: everything that the CPU can save, which is what Linux enables.
  uint64_t Xcr0() override {
    if (xcr0_) {
      return *xcr0_;
    }
    const CpuidRegisters supported = Read(kExtendedState, 0);
    return (uint64_t{supported.edx} << 32) | supported.eax;
  }

  void Add(Key key, const CpuidRegisters& registers) { leaves_.emplace(key, registers); }
  void SetXcr0(uint64_t value) { xcr0_ = value; }

 private:
  static constexpr uint32_t kExtendedState = 0x0d;

  std::map<Key, CpuidRegisters> leaves_;
  std::optional<uint64_t> xcr0_;
};

std::optional<uint32_t> ParseHex32(std::string_view text) {
  const std::optional<uint64_t> value = ParseUint(text, 16);
  return value && *value <= UINT32_MAX ? std::optional(static_cast<uint32_t>(*value))
                                       : std::nullopt;
}

// "eax=0x00000016" and so on, in this order.
bool ParseRegisters(const std::vector<std::string_view>& words, CpuidRegisters& out) {
  constexpr size_t kFirst = 2;
  const std::array<std::pair<std::string_view, uint32_t*>, 4> registers = {
      {{"eax=", &out.eax}, {"ebx=", &out.ebx}, {"ecx=", &out.ecx}, {"edx=", &out.edx}}};
  if (words.size() != kFirst + registers.size()) {
    return false;
  }
  for (size_t i = 0; i < registers.size(); ++i) {
    const auto& [prefix, target] = registers[i];
    const std::string_view word = words[kFirst + i];
    const std::optional<uint32_t> value =
        word.starts_with(prefix) ? ParseHex32(word.substr(prefix.size())) : std::nullopt;
    if (!value) {
      return false;
    }
    *target = *value;
  }
  return true;
}

// One line that starts with a number. False when it is not as it should be.
bool AddLine(const std::vector<std::string_view>& words, RecordedCpuid& cpuid) {
  if (words[0] == "xcr0") {
    const std::optional<uint64_t> value =
        words.size() == 2 ? ParseUint(words[1], 16) : std::nullopt;
    cpuid.SetXcr0(value.value_or(0));
    return value.has_value();
  }
  if (words.size() < 2 || !words[1].ends_with(':')) {
    return false;
  }
  const std::optional<uint32_t> leaf = ParseHex32(words[0]);
  const std::optional<uint32_t> subleaf = ParseHex32(words[1].substr(0, words[1].size() - 1));
  CpuidRegisters registers;
  if (!leaf || !subleaf || !ParseRegisters(words, registers)) {
    return false;
  }
  cpuid.Add({*leaf, *subleaf}, registers);
  return true;
}

}  // namespace

StatusOr<std::unique_ptr<CpuidReader>> ParseRecordedCpuid(const std::string& text) {
  auto cpuid = std::make_unique<RecordedCpuid>();
  size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    const std::vector<std::string_view> words = Words(Trim(line));
    if (words.empty() || words[0].starts_with('#') || words[0].starts_with("CPU")) {
      continue;
    }
    if (!AddLine(words, *cpuid)) {
      return InvalidArgument(
          "line {}: \"{}\" must be \"0xLEAF 0xSUBLEAF: eax=0x… ebx=0x… ecx=0x… edx=0x…\", as "
          "`cpuid -1 -r` prints it",
          number, Printable(Trim(line), 60));
    }
  }
  return cpuid;
}

StatusOr<std::unique_ptr<CpuidReader>> OpenCpuid(const sys::Root& host) {
  constexpr size_t kLimit = size_t{256} << 10;
  const StatusOr<std::string> text = host.ReadFile(kRecordedCpuid, kLimit);
  if (!text.ok()) {
    return std::make_unique<RunningCpuid>();
  }
  auto recorded = ParseRecordedCpuid(*text);
  if (!recorded.ok()) {
    return Annotate(recorded.status(), "{}", host.At(kRecordedCpuid));
  }
  return recorded;
}

}  // namespace kgpu::features
