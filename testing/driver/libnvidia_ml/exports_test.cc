// What the file itself promises: names, needed libraries, no runtime of ours.
#include <elf.h>
#include <gmock/gmock.h>
#include <link.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "testing/driver/libnvidia_ml/simulated_library.h"

namespace kgpu::sim {
namespace {

using testing::ElementsAre;

std::string ReadLibrary() {
  std::ifstream in(KGPU_NVIDIA_ML, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The texts of all entries of one kind in the dynamic section.
std::vector<std::string> DynamicTexts(const std::string& file, int64_t tag) {
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(file.data());
  const auto* sections = reinterpret_cast<const ElfW(Shdr)*>(file.data() + header->e_shoff);
  std::vector<std::string> texts;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_DYNAMIC) {
      continue;
    }
    const char* names = file.data() + sections[sections[i].sh_link].sh_offset;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(file.data() + sections[i].sh_offset);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == tag) {
        texts.emplace_back(names + entry->d_un.d_val);
      }
    }
  }
  return texts;
}

TEST(SimulatedNvmlFileTest, NeedsWhatNvidiasLibraryNeeds) {
  const std::string file = ReadLibrary();
  EXPECT_THAT(DynamicTexts(file, DT_NEEDED),
              ElementsAre("libpthread.so.0", "libm.so.6", "libdl.so.2", "libc.so.6", "librt.so.1"));
  EXPECT_THAT(DynamicTexts(file, DT_SONAME), ElementsAre("libnvidia-ml.so.1"));
}

TEST(SimulatedNvmlFileTest, StubsAnswerNotSupported) {
  const SimulatedLibrary library(0);
  using Stub = nvml::Return(void*);
  constexpr char kStub[] = "nvmlDeviceGetHostVgpuMode";
  EXPECT_EQ(library.Call<Stub>(kStub, static_cast<void*>(nullptr)), nvml::kErrorUninitialized);
  const RunningServer server(library.root().path(), *SampleState(0));
  if (!library.has_nodes()) {
    GTEST_SKIP() << "this machine does not let us make device nodes";
  }
  ASSERT_EQ(library.Init(), nvml::kSuccess);
  EXPECT_EQ(library.Call<Stub>(kStub, static_cast<void*>(nullptr)), nvml::kErrorNotSupported);
}

TEST(SimulatedNvmlFileTest, HasTextsForErrors) {
  const SimulatedLibrary library(0);
  auto text = [&](int32_t code) {
    return library.Call<nvml::ErrorStringFn>("nvmlErrorString", static_cast<nvml::Return>(code));
  };
  EXPECT_STREQ(text(nvml::kErrorGpuIsLost), "GPU is lost");
  EXPECT_STREQ(text(nvml::kErrorDriverNotLoaded), "Driver Not Loaded");
  EXPECT_STREQ(text(12345), "Unknown Error");
}

TEST(SimulatedNvmlFileTest, ExportsOldAndNewNames) {
  const SimulatedLibrary library(0);
  for (const char* name :
       {"nvmlInit", "nvmlInit_v2", "nvmlDeviceGetCount", "nvmlDeviceGetPciInfo",
        "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetHandleByPciBusId_v2", "nvmlEventSetWait",
        "nvmlEventSetWait_v2", "nvmlVgpuTypeGetName", "nvmlInternalGetExportTable"}) {
    EXPECT_TRUE(library.Has(name)) << name;
  }
}

}  // namespace
}  // namespace kgpu::sim
