#include "src/host/features/cpu_info.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "src/host/features/cpu_flags.h"
#include "src/platform/base/strings.h"

namespace kgpu::features {
namespace {

using Name = std::pair<std::string_view, std::string_view>;

// Arm's capabilities that NFD knows: AT_HWCAP and the first half of AT_HWCAP2, in lower case as
// /proc/cpuinfo has them. Source: Documentation/arch/arm64/elf_hwcaps.rst.
constexpr std::array kArmCapabilities = std::to_array<std::string_view>({
    "aes",        "afp",      "asimd",     "asimddp",   "asimdfhm",  "asimdhp",   "asimdrdm",
    "atomics",    "bf16",     "bti",       "cpuid",     "crc32",     "dcpodp",    "dcpop",
    "dgh",        "dit",      "ebf16",     "ecv",       "evtstrm",   "fcma",      "flagm",
    "flagm2",     "fp",       "fphp",      "frint",     "i8mm",      "ilrcpc",    "jscvt",
    "lrcpc",      "mte",      "mte3",      "paca",      "pacg",      "pmull",     "rng",
    "rpres",      "sb",       "sha1",      "sha2",      "sha3",      "sha512",    "sm3",
    "sm4",        "sme",      "smeb16f32", "smef16f32", "smef32f32", "smef64f64", "smefa64",
    "smei16i64",  "smei8i32", "ssbs",      "sve",       "sve2",      "sveaes",    "svebf16",
    "svebitperm", "sveebf16", "svef32mm",  "svef64mm",  "svei8mm",   "svepmull",  "svesha3",
    "svesm4",     "uscat",    "wfxt",
});
static_assert(std::ranges::is_sorted(kArmCapabilities));

constexpr std::array kArmVendors = std::to_array<std::pair<uint64_t, std::string_view>>({
    {0x41, "ARM"},
    {0x42, "Broadcom"},
    {0x43, "Cavium"},
    {0x44, "DEC"},
    {0x46, "Fujitsu"},
    {0x49, "Infineon"},
    {0x4d, "Motorola"},
    {0x4e, "NVIDIA"},
    {0x50, "AMCC"},
    {0x51, "Qualcomm"},
    {0x56, "Marvell"},
    {0x69, "Intel"},
    {0xc0, "Ampere"},
});

// The kernel's name of a flag and NFD's, where they differ by more than capitals and underscores.
constexpr std::array kX86Names = std::to_array<Name>({
    {"3dnow", "AMD3DNOW"},
    {"3dnowext", "AMD3DNOWEXT"},
    {"abm", "LZCNT"},
    {"aes", "AESNI"},
    {"amx_bf16", "AMXBF16"},
    {"amx_complex", "AMXCOMPLEX"},
    {"amx_fp16", "AMXFP16"},
    {"amx_int8", "AMXINT8"},
    {"amx_tile", "AMXTILE"},
    {"arch_capabilities", "IA32_ARCH_CAP"},
    {"avx512_bf16", "AVX512BF16"},
    {"avx512_bitalg", "AVX512BITALG"},
    {"avx512_fp16", "AVX512FP16"},
    {"avx512_vbmi2", "AVX512VBMI2"},
    {"avx512_vnni", "AVX512VNNI"},
    {"avx512_vp2intersect", "AVX512VP2INTERSECT"},
    {"avx512_vpopcntdq", "AVX512VPOPCNTDQ"},
    {"avx_ifma", "AVXIFMA"},
    {"avx_ne_convert", "AVXNECONVERT"},
    {"avx_vnni", "AVXVNNI"},
    {"avx_vnni_int8", "AVXVNNIINT8"},
    {"cpb", "CPBOOST"},
    {"cx8", "CMPXCHG8"},
    {"flush_l1d", "FLUSH_L1D"},
    {"fma", "FMA3"},
    {"fpu", "X87"},
    {"fxsr_opt", "FXSROPT"},
    {"hypervisor", "HYPERVISOR"},
    {"ibt", "CETIBT"},
    {"lahf_lm", "LAHF"},
    {"pclmulqdq", "CLMUL"},
    {"pni", "SSE3"},
    {"sep", "SYSEE"},
    {"sgx_lc", "SGXLC"},
    {"sha_ni", "SHA"},
    {"sse4_1", "SSE4"},
    {"sse4_2", "SSE42"},
    {"tdx_guest", "TDX_GUEST"},
    {"topoext", "TOPEXT"},
    {"user_shstk", "CETSS"},
});
static_assert(std::ranges::is_sorted(kX86Names, {}, &Name::first));

// The kernel's names that are NFD's in small letters.
constexpr std::array kX86SameNames = std::to_array<std::string_view>({
    "adx",      "avx",        "avx2",      "avx512bw",   "avx512cd", "avx512dq",   "avx512er",
    "avx512f",  "avx512ifma", "avx512pf",  "avx512vbmi", "avx512vl", "bmi1",       "bmi2",
    "cldemote", "clzero",     "cmov",      "cmpccxadd",  "cppc",     "cx16",       "enqcmd",
    "erms",     "f16c",       "fma4",      "fsrm",       "fxsr",     "gfni",       "hle",
    "ibpb",     "ibrs",       "ibs",       "invlpgb",    "lam",      "md_clear",   "mmx",
    "mmxext",   "movbe",      "movdir64b", "movdiri",    "mpx",      "nx",         "pconfig",
    "popcnt",   "ppin",       "prefetchi", "rdpru",      "rdrand",   "rdseed",     "rdtscp",
    "rtm",      "serialize",  "sev",       "sev_es",     "sev_snp",  "sgx",        "sme",
    "sse",      "sse2",       "sse4a",     "ssse3",      "stibp",    "svm",        "syscall",
    "tbm",      "tme",        "tsxldtrk",  "vaes",       "vmx",      "vpclmulqdq", "waitpkg",
    "wbnoinvd", "xgetbv1",    "xop",       "xsave",      "xsavec",   "xsaveopt",   "xsaves",
});
static_assert(std::ranges::is_sorted(kX86SameNames));

std::string ToUpper(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return upper;
}

// The first processor's lines: the text up to its first empty line.
std::map<std::string_view, std::string_view> FirstProcessor(std::string_view text) {
  std::map<std::string_view, std::string_view> fields;
  for (const std::string_view line : Split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      if (Trim(line).empty() && !fields.empty()) {
        break;
      }
      continue;
    }
    fields.emplace(Trim(line.substr(0, colon)), Trim(line.substr(colon + 1)));
  }
  return fields;
}

class Fields {
 public:
  explicit Fields(std::string_view text) : values_(FirstProcessor(text)) {}

  std::string_view Text(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string_view() : found->second;
  }
  bool Has(std::string_view name) const { return values_.contains(name); }
  // 0 when it is missing or no number. Arm writes some in hexadecimal.
  unsigned Number(std::string_view name) const {
    const std::string_view text = Text(name);
    const int base = text.starts_with("0x") ? 16 : 10;
    constexpr uint64_t kMost = 0xffff;
    return static_cast<unsigned>(std::min(ParseUint(text, base).value_or(0), kMost));
  }

 private:
  std::map<std::string_view, std::string_view> values_;
};

// As in the register MIDR_EL1: its architecture field is 0xf since there are feature registers.
CpuModel ArmModel(const Fields& fields) {
  constexpr unsigned kArchitecture = 0xf;
  CpuModel model;
  const unsigned implementer = fields.Number("CPU implementer");
  const auto* const vendor =
      std::ranges::find(kArmVendors, implementer, &std::pair<uint64_t, std::string_view>::first);
  if (vendor != kArmVendors.end()) {
    model.vendor = vendor->second;
  }
  model.family = ((fields.Number("CPU variant") & 0xfU) << 4) | kArchitecture;
  model.model =
      ((fields.Number("CPU part") & 0xfffU) << 4) | (fields.Number("CPU revision") & 0xfU);
  return model;
}

CpuInfo ParseArm(const Fields& fields) {
  CpuInfo info;
  for (const std::string_view word : Words(fields.Text("Features"))) {
    if (std::ranges::binary_search(kArmCapabilities, word)) {
      info.flags.insert(ToUpper(word));
    }
  }
  // Without it no program may read the register either, and NFD knows nothing of the model.
  if (info.flags.contains("CPUID")) {
    info.model = ArmModel(fields);
  }
  return info;
}

CpuInfo ParseX86(const Fields& fields) {
  CpuInfo info;
  info.model.vendor = VendorOfSignature(fields.Text("vendor_id"));
  info.model.family = fields.Number("cpu family");
  info.model.model = fields.Number("model");
  for (const std::string_view word : Words(fields.Text("flags"))) {
    const auto* const other = std::ranges::lower_bound(kX86Names, word, {}, &Name::first);
    if (other != kX86Names.end() && other->first == word) {
      info.flags.emplace(other->second);
    } else if (std::ranges::binary_search(kX86SameNames, word)) {
      info.flags.insert(ToUpper(word));
    }
  }
  // The kernel names the instruction set only when it saves its registers.
  if (info.flags.contains("XSAVE")) {
    info.flags.insert("OSXSAVE");
  }
  AddX86Levels(info.flags);
  return info;
}

}  // namespace

CpuInfo ParseCpuInfo(std::string_view text) {
  const Fields fields(text);
  if (fields.Has("CPU implementer")) {
    return ParseArm(fields);
  }
  return fields.Has("flags") ? ParseX86(fields) : CpuInfo{};
}

}  // namespace kgpu::features
