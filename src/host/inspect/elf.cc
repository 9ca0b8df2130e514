#include "src/host/inspect/elf.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"

namespace kgpu::host {
namespace {

constexpr size_t kMaxSegments = 256;
constexpr size_t kMaxDynamic = 4096;  // entries
constexpr size_t kMaxNeeded = 256;
constexpr size_t kMaxName = 256;
constexpr size_t kMaxNotes = size_t{64} * 1024;  // bytes of one note segment

// Bytes [offset, offset + size) of the file, or fewer where it ends.
using Reader = std::function<StatusOr<std::string>(uint64_t offset, size_t size)>;

template <typename T>
T LoadField(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// Offsets of the fields in the two classes. Source: elf(5).
struct Layout {
  bool is_64bit;
  size_t header_size, phoff, phentsize, phnum;     // ELF header
  size_t ph_size, ph_offset, ph_vaddr, ph_filesz;  // program header
  size_t dyn_size;

  // An address or offset, of the width of the class.
  uint64_t Word(std::string_view bytes, size_t offset) const {
    return is_64bit ? LoadField<uint64_t>(bytes, offset) : LoadField<uint32_t>(bytes, offset);
  }
};
constexpr Layout k64{true, 64, 32, 54, 56, 56, 8, 16, 32, 16};
constexpr Layout k32{false, 52, 28, 42, 44, 32, 4, 8, 16, 8};

struct Segment {
  uint32_t type = 0;
  uint64_t offset = 0;
  uint64_t vaddr = 0;
  uint64_t size = 0;  // in the file
};
constexpr uint32_t kLoad = 1;
constexpr uint32_t kDynamic = 2;
constexpr uint32_t kNote = 4;

class ElfReader {
 public:
  explicit ElfReader(const Reader& read) : read_(read) {}

  StatusOr<ElfInfo> Parse() {
    RETURN_IF_ERROR(ParseHeader());
    RETURN_IF_ERROR(ParseSegments());
    RETURN_IF_ERROR(ParseDynamic());
    ParseNotes();
    return info_;
  }

 private:
  StatusOr<std::string> ReadExactly(uint64_t offset, size_t size, std::string_view what) {
    ASSIGN_OR_RETURN(std::string bytes, read_(offset, size));
    if (bytes.size() != size) {
      return InvalidArgument("ELF {} at offset {} ends beyond the file", what, offset);
    }
    return bytes;
  }

  Status ParseHeader() {
    ASSIGN_OR_RETURN(header_, read_(0, k64.header_size));
    if (header_.size() < k32.header_size || !header_.starts_with("\x7f"
                                                                 "ELF")) {
      return InvalidArgument("not an ELF file: its first bytes are not 7f 45 4c 46");
    }
    const auto elf_class = static_cast<unsigned char>(header_[4]);
    const auto byte_order = static_cast<unsigned char>(header_[5]);
    if (elf_class != 1 && elf_class != 2) {
      return InvalidArgument("ELF class {} must be 32 or 64 bit", elf_class);
    }
    if (byte_order != 1) {
      return InvalidArgument("ELF byte order {} must be little-endian", byte_order);
    }
    layout_ = elf_class == 2 ? &k64 : &k32;
    if (header_.size() < layout_->header_size) {
      return InvalidArgument("ELF header ends beyond the file");
    }
    info_.is_64bit = layout_->is_64bit;
    info_.is_shared_object = LoadField<uint16_t>(header_, 16) == 3;
    switch (LoadField<uint16_t>(header_, 18)) {
      case 3:
        info_.machine = ElfMachine::kI386;
        break;
      case 62:
        info_.machine = ElfMachine::kX86_64;
        break;
      case 183:
        info_.machine = ElfMachine::kAarch64;
        break;
      default:
        info_.machine = ElfMachine::kUnknown;
    }
    return OkStatus();
  }

  Status ParseSegments() {
    const uint64_t offset = layout_->Word(header_, layout_->phoff);
    const auto entry_size = LoadField<uint16_t>(header_, layout_->phentsize);
    const auto count = LoadField<uint16_t>(header_, layout_->phnum);
    if (count == 0) {
      return OkStatus();
    }
    if (entry_size != layout_->ph_size || count > kMaxSegments) {
      return InvalidArgument("ELF has {} program headers of {} bytes, limit {} of {}", count,
                             entry_size, kMaxSegments, layout_->ph_size);
    }
    ASSIGN_OR_RETURN(const std::string table,
                     ReadExactly(offset, size_t{count} * entry_size, "program headers"));
    for (size_t i = 0; i < count; ++i) {
      const std::string_view entry = std::string_view(table).substr(i * entry_size, entry_size);
      segments_.push_back({.type = LoadField<uint32_t>(entry, 0),
                           .offset = layout_->Word(entry, layout_->ph_offset),
                           .vaddr = layout_->Word(entry, layout_->ph_vaddr),
                           .size = layout_->Word(entry, layout_->ph_filesz)});
    }
    return OkStatus();
  }

  // File offset of a virtual address, and how many bytes of the file follow it there.
  std::optional<std::pair<uint64_t, uint64_t>> Locate(uint64_t address) const {
    for (const Segment& segment : segments_) {
      if (segment.type == kLoad && address >= segment.vaddr &&
          address - segment.vaddr < segment.size) {
        const uint64_t within = address - segment.vaddr;
        if (segment.offset > UINT64_MAX - within) {
          return std::nullopt;
        }
        return std::pair(segment.offset + within, segment.size - within);
      }
    }
    return std::nullopt;
  }

  Status ParseDynamic() {
    const auto dynamic = std::ranges::find(segments_, kDynamic, &Segment::type);
    if (dynamic == segments_.end()) {
      return OkStatus();
    }
    const uint64_t count = std::min<uint64_t>(dynamic->size / layout_->dyn_size, kMaxDynamic);
    ASSIGN_OR_RETURN(const std::string table,
                     ReadExactly(dynamic->offset, static_cast<size_t>(count) * layout_->dyn_size,
                                 "dynamic section"));
    std::vector<uint64_t> needed;
    std::optional<uint64_t> soname;
    std::optional<uint64_t> strings;
    for (size_t i = 0; i < count; ++i) {
      const size_t at = i * layout_->dyn_size;
      const uint64_t tag = layout_->Word(table, at);
      const uint64_t value = layout_->Word(table, at + layout_->dyn_size / 2);
      if (tag == 0) {
        break;
      }
      if (tag == 1 && needed.size() < kMaxNeeded) {
        needed.push_back(value);
      } else if (tag == 5) {
        strings = value;
      } else if (tag == 14) {
        soname = value;
      }
    }
    if (!soname && needed.empty()) {
      return OkStatus();
    }
    return ParseNames(strings, soname, needed);
  }

  Status ParseNames(std::optional<uint64_t> strings, std::optional<uint64_t> soname,
                    const std::vector<uint64_t>& needed) {
    const auto table = strings ? Locate(*strings) : std::nullopt;
    if (!table) {
      return InvalidArgument("ELF string table lies outside the loaded segments");
    }
    if (soname) {
      ASSIGN_OR_RETURN(info_.soname, NameAt(*table, *soname));
    }
    for (const uint64_t name : needed) {
      ASSIGN_OR_RETURN(std::string text, NameAt(*table, name));
      info_.needed.push_back(std::move(text));
    }
    return OkStatus();
  }

  StatusOr<std::string> NameAt(std::pair<uint64_t, uint64_t> table, uint64_t offset) {
    if (offset >= table.second || table.first > UINT64_MAX - offset) {
      return InvalidArgument("ELF name at {} lies beyond the string table", offset);
    }
    const auto size = static_cast<size_t>(std::min<uint64_t>(table.second - offset, kMaxName));
    ASSIGN_OR_RETURN(std::string text, read_(table.first + offset, size));
    const size_t end = text.find('\0');
    if (end == std::string::npos) {
      return InvalidArgument("ELF name at {} does not end within {} bytes", offset, kMaxName);
    }
    text.resize(end);
    return text;
  }

  // Absent or damaged notes only leave the build id empty: nothing depends on it.
  void ParseNotes() {
    for (const Segment& segment : segments_) {
      if (segment.type != kNote || !info_.build_id.empty()) {
        continue;
      }
      const StatusOr<std::string> notes =
          read_(segment.offset, static_cast<size_t>(std::min<uint64_t>(segment.size, kMaxNotes)));
      if (notes.ok()) {
        info_.build_id = FindBuildId(*notes);
      }
    }
  }

  static std::string FindBuildId(std::string_view notes) {
    constexpr size_t kNoteHeader = 12;
    constexpr uint32_t kGnuBuildId = 3;
    const auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
    size_t at = 0;
    while (notes.size() - at >= kNoteHeader) {
      const auto name_size = LoadField<uint32_t>(notes, at);
      const auto content_size = LoadField<uint32_t>(notes, at + 4);
      const auto type = LoadField<uint32_t>(notes, at + 8);
      const uint64_t end = padded(name_size) + padded(content_size);
      if (end > notes.size() - at - kNoteHeader) {
        break;
      }
      const std::string_view name = notes.substr(at + kNoteHeader, name_size);
      if (type == kGnuBuildId && name == std::string_view("GNU\0", 4)) {
        std::string hex;
        for (const char byte : notes.substr(at + kNoteHeader + padded(name_size), content_size)) {
          fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<unsigned char>(byte));
        }
        return hex;
      }
      at += kNoteHeader + static_cast<size_t>(end);
    }
    return {};
  }

  const Reader& read_;
  const Layout* layout_ = &k64;
  std::string header_;
  std::vector<Segment> segments_;
  ElfInfo info_;
};

}  // namespace

std::string_view ToString(ElfMachine machine) {
  static constexpr std::array<std::string_view, 4> kWords = {"unknown", "x86_64", "i386",
                                                             "aarch64"};
  return kWords.at(static_cast<size_t>(machine));
}

ElfMachine NativeMachine() {
#if defined(__x86_64__)
  return ElfMachine::kX86_64;
#elif defined(__aarch64__)
  return ElfMachine::kAarch64;
#else
  return ElfMachine::kUnknown;
#endif
}

StatusOr<ElfInfo> ParseElf(std::string_view bytes) {
  const Reader read = [bytes](uint64_t offset, size_t size) -> StatusOr<std::string> {
    return offset < bytes.size() ? std::string(bytes.substr(static_cast<size_t>(offset), size))
                                 : std::string();
  };
  return ElfReader(read).Parse();
}

StatusOr<ElfInfo> ReadElf(const sys::Root& root, std::string_view path) {
  // O_NONBLOCK: a pipe instead of a library must not block us.
  ASSIGN_OR_RETURN(const UniqueFd fd, root.OpenFile(path, O_RDONLY | O_NONBLOCK));
  const Reader read = [&fd](uint64_t offset, size_t size) -> StatusOr<std::string> {
    if (offset > INT64_MAX) {
      return std::string();
    }
    std::string bytes(size, '\0');
    size_t done = 0;
    while (done < size) {
      const ssize_t count = TEMP_FAILURE_RETRY(
          ::pread(fd.get(), bytes.data() + done, size - done, static_cast<off_t>(offset + done)));
      if (count < 0) {
        return ErrnoStatus(errno, "reading an ELF file");
      }
      if (count == 0) {
        break;
      }
      done += static_cast<size_t>(count);
    }
    bytes.resize(done);
    return bytes;
  };
  StatusOr<ElfInfo> info = ElfReader(read).Parse();
  if (!info.ok()) {
    return Annotate(info.status(), "{}", root.At(path));
  }
  return info;
}

}  // namespace kgpu::host
