#include "testing/host_files.h"

#include <cstring>

namespace kgpu {
namespace {

// Appends little-endian values of 2, 4 or 8 bytes.
class Writer {
 public:
  explicit Writer(bool is_64bit) : is_64bit_(is_64bit) {}

  void Raw(std::string_view bytes) { bytes_ += bytes; }
  void U8(uint8_t value) { Put(&value, sizeof(value)); }
  void U16(uint16_t value) { Put(&value, sizeof(value)); }
  void U32(uint32_t value) { Put(&value, sizeof(value)); }
  void U64(uint64_t value) { Put(&value, sizeof(value)); }
  // An address, of the width of the ELF class.
  void Word(uint64_t value) {
    if (is_64bit_) {
      U64(value);
    } else {
      U32(static_cast<uint32_t>(value));
    }
  }
  size_t size() const { return bytes_.size(); }
  std::string Take() { return std::move(bytes_); }

 private:
  void Put(const void* value, size_t size) {
    const size_t at = bytes_.size();
    bytes_.resize(at + size);
    std::memcpy(bytes_.data() + at, value, size);
  }

  bool is_64bit_;
  std::string bytes_;
};

constexpr uint32_t kLoad = 1;
constexpr uint32_t kDynamic = 2;
constexpr uint32_t kNote = 4;

void PutSegment(Writer& out, bool is_64bit, uint32_t type, uint64_t offset, uint64_t size) {
  constexpr uint32_t kReadable = 4;
  out.U32(type);
  if (is_64bit) {
    out.U32(kReadable);
  }
  out.Word(offset);
  out.Word(offset);  // virtual address
  out.Word(offset);  // physical address
  out.Word(size);
  out.Word(size);
  if (!is_64bit) {
    out.U32(kReadable);
  }
  out.Word(type == kLoad ? 4096 : 8);
}

std::string MakeNote(std::string_view build_id) {
  if (build_id.empty()) {
    return {};
  }
  Writer out(true);
  out.U32(4);
  out.U32(static_cast<uint32_t>(build_id.size()));
  out.U32(3);  // NT_GNU_BUILD_ID
  out.Raw(std::string_view("GNU\0", 4));
  out.Raw(build_id);
  while (out.size() % 4 != 0) {
    out.U8(0);
  }
  return out.Take();
}

}  // namespace

std::string MakeElf(const ElfImage& image) {
  const bool is_64bit = image.machine != kElfI386;
  const size_t word = is_64bit ? 8 : 4;
  const uint16_t header_size = is_64bit ? 64 : 52;
  const uint16_t segment_size = is_64bit ? 56 : 32;
  std::string strings(1, '\0');
  const auto add_string = [&strings](const std::string& text) {
    const size_t at = strings.size();
    strings += text;
    strings += '\0';
    return at;
  };
  std::vector<std::pair<uint64_t, uint64_t>> dynamic;
  dynamic.reserve(image.needed.size() + 1);
  for (const std::string& needed : image.needed) {
    dynamic.emplace_back(1, add_string(needed));
  }
  if (!image.soname.empty()) {
    dynamic.emplace_back(14, add_string(image.soname));
  }
  const uint64_t dynamic_at = header_size + 3 * segment_size;
  const uint64_t dynamic_size = (dynamic.size() + 3) * 2 * word;
  const uint64_t strings_at = dynamic_at + dynamic_size;
  dynamic.emplace_back(5, strings_at);       // DT_STRTAB
  dynamic.emplace_back(10, strings.size());  // DT_STRSZ
  dynamic.emplace_back(0, 0);                // DT_NULL
  const uint64_t note_at = (strings_at + strings.size() + 7) / 8 * 8;
  const std::string note = MakeNote(image.build_id);

  Writer out(is_64bit);
  out.Raw(
      "\x7f"
      "ELF");
  out.U8(is_64bit ? 2 : 1);
  out.U8(1);  // little-endian
  out.U8(1);
  out.Raw(std::string(9, '\0'));
  out.U16(3);  // ET_DYN
  out.U16(image.machine);
  out.U32(1);
  out.Word(0);
  out.Word(header_size);
  out.Word(0);
  out.U32(0);
  out.U16(header_size);
  out.U16(segment_size);
  out.U16(3);
  out.Raw(std::string(6, '\0'));
  PutSegment(out, is_64bit, kLoad, 0, note_at + note.size());
  PutSegment(out, is_64bit, kDynamic, dynamic_at, dynamic_size);
  PutSegment(out, is_64bit, kNote, note_at, note.size());
  for (const auto& [tag, value] : dynamic) {
    out.Word(tag);
    out.Word(value);
  }
  out.Raw(strings);
  out.Raw(std::string(note_at - out.size(), '\0'));
  out.Raw(note);
  return out.Take();
}

std::string MakeLdCache(const std::vector<CacheLine>& lines, bool has_old_table) {
  constexpr size_t kHeader = 48;
  constexpr size_t kEntry = 24;
  std::string strings;
  Writer entries(true);
  const size_t strings_at = kHeader + lines.size() * kEntry;
  for (const CacheLine& line : lines) {
    entries.U32(line.flags);
    entries.U32(static_cast<uint32_t>(strings_at + strings.size()));
    strings += line.name + '\0';
    entries.U32(static_cast<uint32_t>(strings_at + strings.size()));
    strings += line.path + '\0';
    entries.U32(0);
    entries.U64(line.hwcap);
  }
  Writer out(true);
  if (has_old_table) {
    out.Raw(std::string_view("ld.so-1.7.0\0\0\0\0\0", 16));
  }
  out.Raw("glibc-ld.so.cache1.1");
  out.U32(static_cast<uint32_t>(lines.size()));
  out.U32(static_cast<uint32_t>(strings.size()));
  out.U8(2);  // little-endian
  out.Raw(std::string(kHeader - 29, '\0'));
  out.Raw(entries.Take());
  out.Raw(strings);
  return out.Take();
}

}  // namespace kgpu
