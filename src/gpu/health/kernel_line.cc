#include "src/gpu/health/kernel_line.h"

#include <algorithm>
#include <charconv>

namespace kgpu::health {
namespace {

// Removes matching text from the front, or leaves the text as it is.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}
  std::string_view rest() const { return text_; }

  bool Skip(std::string_view word) {
    if (!text_.starts_with(word)) {
      return false;
    }
    text_.remove_prefix(word.size());
    return true;
  }
  // Up to `most` digits.
  std::optional<uint64_t> Number(int base, size_t most) {
    uint64_t value = 0;
    const char* end = text_.data() + std::min(most, text_.size());
    const auto [next, error] = std::from_chars(text_.data(), end, value, base);
    if (error != std::errc() || next == text_.data()) {
      return std::nullopt;
    }
    text_.remove_prefix(static_cast<size_t>(next - text_.data()));
    return value;
  }
  void Drop(size_t count) { text_.remove_prefix(count); }

 private:
  std::string_view text_;
};

// "0000:07:00", "0000:07:00.0".
std::optional<device::PciBusId> TakePci(Scanner& scanner) {
  Scanner trial = scanner;
  const auto domain = trial.Number(16, 8);
  if (!domain || !trial.Skip(":")) {
    return std::nullopt;
  }
  const auto bus = trial.Number(16, 2);
  if (!bus || !trial.Skip(":")) {
    return std::nullopt;
  }
  const auto slot = trial.Number(16, 2);
  if (!slot || *slot > 0x1f) {
    return std::nullopt;
  }
  Scanner behind = trial;
  const auto function = behind.Skip(".") ? behind.Number(16, 1) : std::nullopt;
  const bool has_function = function.value_or(8) < 8;
  if (has_function) {
    trial = behind;
  }
  scanner = trial;
  return device::PciBusId{
      .domain = static_cast<uint32_t>(*domain),
      .bus = static_cast<uint8_t>(*bus),
      .device = static_cast<uint8_t>(*slot),
      .function = static_cast<uint8_t>(has_function ? function.value_or(0) : 0)};
}

bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// The first address anywhere in the text.
std::optional<device::PciBusId> FindPci(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (!IsHex(text[at]) || (at > 0 && IsHex(text[at - 1]))) {
      continue;  // not where a number begins
    }
    Scanner scanner(text.substr(at));
    if (const auto pci = TakePci(scanner)) {
      return pci;
    }
  }
  return std::nullopt;
}

std::optional<unsigned> TakeInstance(Scanner& scanner, std::string_view word) {
  Scanner trial = scanner;
  const auto number = trial.Skip(word) ? trial.Number(10, 4) : std::nullopt;
  if (!number) {
    return std::nullopt;
  }
  scanner = trial;
  return static_cast<unsigned>(*number);
}

// "(PCI:0000:07:00 GPU-I:05 GPU-CI:00): 79, " and what follows; drivers before 375 left "PCI:" out.
std::optional<KernelFault> TakeCoded(Scanner& scanner) {
  KernelFault fault;
  if (!scanner.Skip("(")) {
    return std::nullopt;
  }
  scanner.Skip("PCI:");
  const auto pci = TakePci(scanner);
  if (!pci) {
    return std::nullopt;
  }
  fault.pci = *pci;
  fault.gpu_instance = TakeInstance(scanner, " GPU-I:");
  fault.compute_instance = TakeInstance(scanner, " GPU-CI:");
  // Fields that newer drivers add are skipped.
  const size_t close = scanner.rest().find("): ");
  if (close == std::string_view::npos) {
    return std::nullopt;
  }
  scanner.Drop(close + 3);
  const auto code = scanner.Number(10, 9);
  if (!code) {
    return std::nullopt;
  }
  fault.code = *code;
  scanner.Skip(",");
  scanner.Skip(" ");
  fault.text = scanner.rest();
  return fault;
}

// "pid=4711, …"; the driver writes pid='<unknown>' where it does not know it.
std::optional<uint32_t> PidOf(std::string_view text) {
  Scanner scanner(text);
  const auto pid = scanner.Skip("pid=") ? scanner.Number(10, 10) : std::nullopt;
  if (!pid || *pid == 0 || *pid > UINT32_MAX) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(*pid);
}

// "149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (…)"; of others it says "Nonfatal".
bool IsFatalLinkError(const KernelFault& fault) {
  if (fault.code < 144 || fault.code > 150) {
    return false;
  }
  const size_t at = fault.text.find(" Fatal ");
  return at != std::string_view::npos || fault.text.starts_with("Fatal ");
}

std::optional<KernelFault> TakeSwitchFault(Scanner& scanner) {
  auto fault = TakeCoded(scanner);
  if (!fault) {
    return std::nullopt;
  }
  if (fault->text.starts_with("Fatal")) {
    fault->word = KernelWord::kSwitchFatal;
  } else if (fault->text.starts_with("Non-fatal")) {
    fault->word = KernelWord::kSwitchError;
  } else {
    return std::nullopt;  // "Severity 0 Engine instance …", "Data {…}": more about the line before
  }
  return fault;
}

}  // namespace

std::optional<std::string_view> KernelMessage(std::string_view record) {
  Scanner scanner(record);
  const auto priority = scanner.Number(10, 9);
  if (!priority || *priority > 7 || !scanner.Skip(",")) {
    return std::nullopt;  // more than 7: the facility is not the kernel
  }
  const size_t semicolon = scanner.rest().find(';');
  if (semicolon == std::string_view::npos) {
    return std::nullopt;
  }
  scanner.Drop(semicolon + 1);
  return scanner.rest().substr(0, scanner.rest().find('\n'));
}

std::optional<uint64_t> RecordNumber(std::string_view record) {
  Scanner scanner(record);
  const bool has_front = scanner.Number(10, 9) && scanner.Skip(",");
  return has_front ? scanner.Number(10, 20) : std::nullopt;
}

std::optional<KernelFault> ParseKernelMessage(std::string_view message) {
  Scanner scanner(message);
  if (scanner.Skip("NVRM: ")) {
    if (scanner.Skip("Xid ")) {
      auto fault = TakeCoded(scanner);
      if (fault) {
        fault->pid = PidOf(fault->text);
        fault->is_fatal = IsFatalLinkError(*fault);
      }
      return fault;
    }
    const auto pci = message.find("fallen off the bus") == std::string_view::npos
                         ? std::nullopt
                         : FindPci(message);
    if (!pci) {
      return std::nullopt;
    }
    return KernelFault{.word = KernelWord::kLost, .pci = *pci, .text = scanner.rest()};
  }
  if (scanner.Skip("nvidia-nvswitch") && scanner.Number(10, 4) && scanner.Skip(": SXid ")) {
    return TakeSwitchFault(scanner);
  }
  return std::nullopt;
}

}  // namespace kgpu::health
