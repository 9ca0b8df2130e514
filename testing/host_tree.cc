#include "testing/host_tree.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "src/platform/base/strings.h"

namespace kgpu {
namespace {

using Options = std::map<std::string, std::string, std::less<>>;

[[noreturn]] void Fail(size_t line, std::string_view why) {
  throw std::runtime_error(fmt::format("host tree, line {}: {}", line, why));
}

// "a=b c no-d" as a map; words without "=" have an empty value.
Options ParseOptions(const std::vector<std::string_view>& words, size_t from) {
  Options options;
  for (size_t i = from; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    options.emplace(words[i].substr(0, equals), equals == std::string_view::npos
                                                    ? std::string_view()
                                                    : words[i].substr(equals + 1));
  }
  return options;
}

std::string Get(const Options& options, std::string_view name, std::string_view otherwise = "") {
  const auto found = options.find(name);
  return std::string(found == options.end() ? otherwise : std::string_view(found->second));
}

unsigned Number(const Options& options, std::string_view name, unsigned otherwise) {
  return static_cast<unsigned>(ParseUint(Get(options, name)).value_or(otherwise));
}

// "0-3,8" as numbers.
std::vector<unsigned> Numbers(std::string_view list) {
  std::vector<unsigned> numbers;
  for (const std::string_view piece : Split(list, ',')) {
    const size_t dash = piece.find('-');
    const auto first = ParseUint(piece.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseUint(piece.substr(dash + 1));
    for (uint64_t i = first.value_or(1); first && last && i <= *last; ++i) {
      numbers.push_back(static_cast<unsigned>(i));
    }
  }
  return numbers;
}

std::string ListText(const std::vector<unsigned>& numbers) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) {
      ++end;
    }
    parts.push_back(end - i == 1 ? std::to_string(numbers[i])
                                 : fmt::format("{}-{}", numbers[i], numbers[end - 1]));
    i = end;
  }
  return Join(parts, ",");
}

std::string Upper(std::string text) {
  for (char& c : text) {
    c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
}

// "sys/a/b" seen from "sys/c/d": "../../a/b".
std::string Relative(std::string_view from, std::string_view to) {
  return std::filesystem::path(to).lexically_relative(from).string();
}

class Unpacker {
 public:
  Unpacker(const TempDir& dir, std::string_view folder) : dir_(dir), top_(folder) {}

  void Line(std::string_view line, size_t number) {
    if (text_name_) {
      TextLine(line);
      return;
    }
    line = Trim(line);
    if (line.empty() || line.starts_with('#')) {
      return;
    }
    if (line.starts_with('[') && line.ends_with(']')) {
      folder_ = line.substr(1, line.size() - 2);
      dir_.MakeDir(Path(folder_));
    } else if (line.starts_with('@')) {
      Directive(Words(line), number);
    } else if (line.ends_with("<<<")) {
      text_name_ = std::string(Trim(line.substr(0, line.size() - 3)));
    } else {
      Entry(line, number);
    }
  }
  void Finish(size_t number) const {
    if (text_name_) {
      Fail(number, fmt::format("the text of {} has no end", *text_name_));
    }
  }

 private:
  std::string Path(std::string_view path) const {
    return (std::filesystem::path(top_) / path).string();
  }
  std::string Here(std::string_view name) const {
    return folder_.empty() ? std::string(name) : fmt::format("{}/{}", folder_, name);
  }
  void File(const std::string& path, std::string_view line) const {
    dir_.WriteFile(Path(path), fmt::format("{}\n", line));
  }
  // `to` is a path in the host.
  void Link(const std::string& path, std::string_view to) const {
    dir_.Symlink(Relative(std::filesystem::path(path).parent_path().string(), to), Path(path));
  }

  void TextLine(std::string_view line) {
    if (line == ">>>") {
      dir_.WriteFile(Path(Here(*text_name_)), text_);
      text_name_.reset();
      text_.clear();
      return;
    }
    text_ += line;
    text_ += '\n';
  }

  void Entry(std::string_view line, size_t number) const {
    const size_t equals = line.find('=');
    const size_t arrow = line.find(" -> ");
    if (line.ends_with('/')) {
      dir_.MakeDir(Path(Here(line.substr(0, line.size() - 1))));
    } else if (arrow != std::string_view::npos) {
      dir_.Symlink(Trim(line.substr(arrow + 4)), Path(Here(Trim(line.substr(0, arrow)))));
    } else if (equals != std::string_view::npos) {
      File(Here(Trim(line.substr(0, equals))), Trim(line.substr(equals + 1)));
    } else {
      Fail(number, "is no file, no link, no folder");
    }
  }

  void Directive(const std::vector<std::string_view>& words, size_t number) {
    if (words.size() < 2) {
      Fail(number, "says nothing of what");
    }
    const Options options = ParseOptions(words, 2);
    if (words[0] == "@pci") {
      Pci(std::string(words[1]), options);
    } else if (words[0] == "@cpus") {
      Cpus(Numbers(words[1]), options);
    } else {
      Fail(number, fmt::format("{} is not known", words[0]));
    }
  }

  void Pci(const std::string& address, const Options& options) {
    const std::string parent = Get(options, "parent");
    const std::string root_bus = fmt::format("sys/devices/pci{}", address.substr(0, 7));
    const std::string folder = parent.empty() ? fmt::format("{}/{}", root_bus, address)
                                              : fmt::format("{}/{}", pci_folders_[parent], address);
    pci_folders_[address] = folder;
    PciIds(folder, address, options);
    Link("sys/bus/pci/devices/" + address, folder);
    if (const std::string total = Get(options, "vfs"); !total.empty()) {
      File(folder + "/sriov_totalvfs", total);
      File(folder + "/sriov_numvfs", Get(options, "numvfs", "0"));
    }
    if (const std::string group = Get(options, "group"); !group.empty()) {
      const std::string path = "sys/kernel/iommu_groups/" + group;
      File(path + "/type", Get(options, "group_type", "DMA-FQ"));
      Link(folder + "/iommu_group", path);
    }
    if (const std::string iommu = Get(options, "iommu"); !iommu.empty()) {
      Link(folder + "/iommu", "sys/devices/virtual/iommu/" + iommu);
    }
    if (const std::string net = Get(options, "net"); !net.empty()) {
      const std::string path = fmt::format("{}/net/{}", folder, net);
      Link(path + "/device", folder);
      Link("sys/class/net/" + net, path);
      dir_.MakeDir(Path(path));
    }
  }

  void PciIds(const std::string& folder, const std::string& address, const Options& options) const {
    const std::string pci_class = Get(options, "class", "000000");
    const std::string id = Get(options, "id", "ffff:ffff");
    const std::string subsystem = Get(options, "subsystem", "0000:0000");
    const std::string driver = Get(options, "driver");
    if (!driver.empty()) {
      Link(folder + "/driver", "sys/bus/pci/drivers/" + driver);
    }
    if (options.contains("no-uevent")) {
      File(folder + "/class", "0x" + pci_class);
      File(folder + "/vendor", "0x" + id.substr(0, 4));
      File(folder + "/device", "0x" + id.substr(5));
      File(folder + "/subsystem_vendor", "0x" + subsystem.substr(0, 4));
      File(folder + "/subsystem_device", "0x" + subsystem.substr(5));
      return;
    }
    const size_t zeros = std::min(pci_class.find_first_not_of('0'), pci_class.size());
    File(folder + "/uevent",
         fmt::format("{}PCI_CLASS={}\nPCI_ID={}\nPCI_SUBSYS_ID={}\nPCI_SLOT_NAME={}",
                     driver.empty() ? "" : fmt::format("DRIVER={}\n", driver),
                     Upper(pci_class.substr(zeros)), Upper(id), Upper(subsystem), address));
  }

  // Numbered as Linux does on most servers: the first threads of all cores, then the second ones.
  void Cpus(const std::vector<unsigned>& cpus, const Options& options) const {
    const auto count = static_cast<unsigned>(cpus.size());
    const unsigned threads = Number(options, "threads", 1);
    const unsigned cores = count / threads;
    const unsigned per_socket = std::max(1U, cores / Number(options, "sockets", 1));
    const std::vector<unsigned> off = Numbers(Get(options, "offline"));
    const std::set<unsigned> offline(off.begin(), off.end());
    for (const unsigned cpu : cpus) {
      const std::string path = fmt::format("sys/devices/system/cpu/cpu{}", cpu);
      dir_.MakeDir(Path(path));
      if (!offline.contains(cpu)) {
        Topology(path, cpu, count, cores, per_socket, offline, options.contains("no-smt"));
        Policy(cpu, options);
      }
    }
    if (!options.contains("no-smt")) {
      File("sys/devices/system/cpu/smt/active", threads > 1 ? "1" : "0");
    }
  }

  void Topology(const std::string& path, unsigned cpu, unsigned count, unsigned cores,
                unsigned per_socket, const std::set<unsigned>& offline, bool is_old) const {
    const unsigned core = cpu % cores;
    const unsigned socket = core / per_socket;
    std::vector<unsigned> siblings;
    std::vector<unsigned> package;
    for (unsigned other = 0; other < count; ++other) {
      if (!offline.contains(other)) {
        if (other % cores == core) {
          siblings.push_back(other);
        }
        if (other % cores / per_socket == socket) {
          package.push_back(other);
        }
      }
    }
    File(path + "/topology/thread_siblings_list", ListText(siblings));
    File(path + (is_old ? "/topology/core_siblings_list" : "/topology/package_cpus_list"),
         ListText(package));
    File(path + "/topology/physical_package_id", std::to_string(socket));
  }

  void Policy(unsigned cpu, const Options& options) const {
    const std::string governor = Get(options, "governor");
    if (governor.empty()) {
      return;
    }
    const std::string policy = fmt::format("sys/devices/system/cpu/cpufreq/policy{}", cpu);
    File(policy + "/scaling_governor", governor);
    File(policy + "/affected_cpus", std::to_string(cpu));
    if (const std::string base = Get(options, "base_khz"); !base.empty()) {
      File(policy + "/base_frequency", base);
    }
  }

  const TempDir& dir_;
  std::string top_;
  std::string folder_;
  std::optional<std::string> text_name_;
  std::string text_;
  std::map<std::string, std::string> pci_folders_;
};

std::string ReadWhole(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw std::runtime_error(fmt::format("{} is not there", path.string()));
  }
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

void UnpackHost(std::string_view tree, const TempDir& dir, std::string_view folder) {
  Unpacker unpacker(dir, folder);
  size_t number = 0;
  for (const std::string_view line : Split(tree, '\n')) {
    ++number;
    unpacker.Line(line, number);
  }
  unpacker.Finish(number);
}

void UnpackRecordedHost(std::string_view name, const TempDir& dir) {
  const std::filesystem::path folder =
      std::filesystem::path(KGPU_SOURCE_DIR) / "tests/data/hosts" / name;
  UnpackHost(ReadWhole(folder / "host.tree"), dir);
  if (std::filesystem::exists(folder / "cpuid.txt")) {
    dir.WriteFile("cpuid.txt", ReadWhole(folder / "cpuid.txt"));
  }
}

}  // namespace kgpu
