// Memory slices in real containers: agent, kubelet, runc, the library that ships and the simulated
// driver, which counts the memory of all containers on the GPU.
#include <fstream>
#include <iterator>

#include "tests/e2e/two_pods.h"

namespace kgpu::e2e {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSlice = "nvidia.com/gpu-20gi";
// 20 GiB less a context of 320 MiB, in pieces of 512 MiB.
constexpr const char* kStopped = "total 20480\ngot 39\n";

class MemorySlicesTest : public AgentTest {
 protected:
  void MakeHost() override { host_ = std::make_unique<SimHost>("8xH100-SXM5-80GB"); }
  std::map<std::string, std::string> Allocatable() const override { return {{kSlice, "3"}}; }
  void StartPlugin() override {
    namespace fs = std::filesystem;
    fs::copy_file(ProgramPath("slice-client"), bench_->rootfs() + "/usr/bin/slice-client");
    StartAgent("pools:\n- devices: {index: 0}\n  share: {by: memory, size: 20Gi, " + more_ + "}\n");
  }
  std::string LogOf(const std::string& pod) const { return Run({"logs", pod}).out; }
  // Once the program has asked for all that it wants; empty if that does not come.
  std::string WaitForLog(const std::string& pod) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < end) {
      const std::string log = LogOf(pod);
      if (log.find("got ") != std::string::npos) {
        return log;
      }
    }
    return "";
  }
  std::string Phase(const std::string& pod) const {
    for (const char* phase : {"Running", "Failed", "Succeeded"}) {
      if (Run({"wait", "--pod", pod, "--phase", phase, "--timeout", "0"}).code == 0) {
        return phase;
      }
    }
    return "another";
  }

  std::string more_ = "onExcess: event";
};

TEST_F(MemorySlicesTest, EachContainerSeesItsSliceAndIsStoppedAtItWhateverTheOtherDoes) {
  (void)StartPod("a", kSlice, "exec slice-client 1000");
  EXPECT_EQ(WaitForLog("a"), kStopped);
  (void)StartPod("b", kSlice, "exec slice-client 1000");
  EXPECT_EQ(WaitForLog("b"), kStopped);
  // The driver's own numbers, from outside: 39 pieces and a context each.
  EXPECT_TRUE(WaitForPage(
      [](const std::string& page) {
        for (const char* pod : {"pod=\"a\"", "pod=\"b\""}) {
          const auto used = ParseUint(Value(page, "kgpu_container_memory_used_bytes", pod));
          if (!used || *used < 39 * (512ULL << 20) || *used > 20ULL << 30) {
            return false;
          }
        }
        return true;
      },
      std::chrono::seconds(30)))
      << Page();
  // What the first one gives back is the next one's, all of it, and the neighbour keeps its own.
  ASSERT_EQ(Run({"delete", "a"}).code, 0);
  (void)StartPod("c", kSlice, "exec slice-client 1000");
  EXPECT_EQ(WaitForLog("c"), kStopped);
  EXPECT_EQ(Phase("b"), "Running");
}

// A loader that reads another file than /etc/ld.so.preload, as a tenant could bring one.
class EvadingTest : public MemorySlicesTest {
 protected:
  EvadingTest() { more_ = "onExcess: kill"; }
  void StartPlugin() override {
    WriteOwnLoader();
    MemorySlicesTest::StartPlugin();
  }
  void WriteOwnLoader() const {
    namespace fs = std::filesystem;
    std::string loader;
    for (const auto& entry : fs::directory_iterator(bench_->rootfs() + "/lib64")) {
      loader = entry.path().string();
    }
    ASSERT_THAT(loader, HasSubstr("/ld-linux-"));
    std::ifstream in(loader, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const std::string_view file = "/etc/ld.so.preload";
    const size_t at = bytes.find(file);
    ASSERT_NE(at, std::string::npos);
    bytes.replace(at, file.size(), "/etc/ld.so.nothing");
    const std::string own = bench_->rootfs() + "/own-loader";
    std::ofstream(own, std::ios::binary) << bytes;
    fs::permissions(own, fs::perms::owner_all | fs::perms::others_exec | fs::perms::others_read);
  }
};

TEST_F(EvadingTest, WhoDisablesTheLimitInsideIsStoppedFromOutsideAndTheNeighbourIsNot) {
  (void)StartPod("honest", kSlice, "exec slice-client 1000");
  EXPECT_EQ(WaitForLog("honest"), kStopped);
  (void)StartPod("thief", kSlice, "exec /own-loader /usr/bin/slice-client 60");
  const auto began = std::chrono::steady_clock::now();
  // 30 GiB: nothing inside stops it.
  EXPECT_THAT(WaitForLog("thief"), HasSubstr("got 60\n"));
  ASSERT_EQ(Run({"wait", "--pod", "thief", "--phase", "Failed"}).code, 0) << Run({"status"}).out;
  const auto took = std::chrono::steady_clock::now() - began;
  // For people: the agent samples each second.
  RecordProperty("killed_after_ms", static_cast<int>(took / std::chrono::milliseconds(1)));
  EXPECT_THAT(Run({"status"}).out, HasSubstr("terminated (exit code 137)"));
  EXPECT_EQ(Phase("honest"), "Running");
  EXPECT_EQ(LogOf("honest"), kStopped);
  // Its memory is there again.
  (void)StartPod("next", kSlice, "exec slice-client 1000");
  EXPECT_EQ(WaitForLog("next"), kStopped);
}

}  // namespace
}  // namespace kgpu::e2e
