#include "src/host/facts/kernel_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Says for every program what modinfo says of a signed module.
class ModinfoRunner : public sys::ProgramRunner {
 public:
  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override {
    command_ = request.argv.at(0);
    sys::RunResult result;
    result.exit.code = 0;
    result.out = "filename: nvidia.ko.xz\nsigner: me\n";
    return result;
  }
  const std::string& command() const { return command_; }

 private:
  std::string command_;
};

class KernelFactsTest : public ::testing::Test {
 protected:
  KernelFactsTest() { dir_.WriteFile("proc/sys/kernel/osrelease", "6.1.0-9-amd64\n"); }

  KernelFacts Read() {
    unreadable_.clear();
    Sight sight(root_, unreadable_);
    return ReadKernelFacts(sight, runner_);
  }

  const TempDir dir_;
  const sys::Root root_ = sys::Root::Open(dir_.path()).value();
  ModinfoRunner runner_;
  std::vector<std::string> unreadable_;
};

TEST_F(KernelFactsTest, TellTheRunningKernelAndItsCompiler) {
  dir_.WriteFile("proc/version", "Linux version 6.1.0 (a@b) (gcc-12 (Debian 12.2.0) 12.2.0) #1\n");
  dir_.WriteFile("proc/modules", "nvidia_uvm 1 0 - Live 0x0\nnvidia 1 0 - Live 0x0\n");
  const KernelFacts facts = Read();
  EXPECT_EQ(facts.release, "6.1.0-9-amd64");
  EXPECT_EQ(facts.built_by, "gcc-12");
  EXPECT_THAT(facts.loaded, ElementsAre("nvidia", "nvidia_uvm"));
}

TEST_F(KernelFactsTest, TellWhetherTheModuleIsSigned) {
  dir_.WriteFile("lib/modules/6.1.0-9-amd64/modules.dep", "updates/nvidia.ko:\n");
  dir_.WriteFile("lib/modules/6.1.0-9-amd64/updates/nvidia.ko",
                 "code~Module signature appended~\n");
  EXPECT_EQ(Read().is_nvidia_signed, true);
  dir_.WriteFile("lib/modules/6.1.0-9-amd64/updates/nvidia.ko", std::string(60, 'x'));
  EXPECT_EQ(Read().is_nvidia_signed, false);
}

TEST_F(KernelFactsTest, AskModinfoOfACompressedModule) {
  dir_.WriteFile("lib/modules/6.1.0-9-amd64/modules.dep", "updates/nvidia.ko.xz:\n");
  EXPECT_EQ(Read().is_nvidia_signed, std::nullopt);
  EXPECT_THAT(unreadable_, ElementsAre(HasSubstr("modinfo is not installed")));
  dir_.WriteFile("usr/sbin/modinfo", "");
  EXPECT_EQ(Read().is_nvidia_signed, true);
  EXPECT_EQ(runner_.command(), "/usr/sbin/modinfo");
}

TEST_F(KernelFactsTest, TakeTheNewestOfDkmsThatIsBuilt) {
  dir_.MakeDir("var/lib/dkms/nvidia/535.104.05/6.1.0-9-amd64");
  dir_.MakeDir("var/lib/dkms/nvidia-current/580.95.05/source");
  dir_.MakeDir("var/lib/dkms/nvidia-fs/999.1/6.1.0-9-amd64");
  const std::optional<DkmsModule> dkms = Read().dkms;
  ASSERT_TRUE(dkms.has_value());
  EXPECT_EQ(dkms->version, "535.104.05");
  EXPECT_TRUE(dkms->is_built);
}

TEST_F(KernelFactsTest, TellSecureBoot) {
  constexpr const char* kVariable =
      "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
  EXPECT_EQ(Read().secure_boot, std::nullopt);
  dir_.WriteFile(kVariable, std::string("\6\0\0\0\1", 5));
  EXPECT_EQ(Read().secure_boot, true);
  dir_.WriteFile(kVariable, std::string("\6\0\0\0\0", 5));
  EXPECT_EQ(Read().secure_boot, false);
}

TEST_F(KernelFactsTest, TakeAFileOfEtcInPlaceOfOneOfThatNameElsewhere) {
  dir_.WriteFile("etc/modprobe.d/a.conf", "blacklist nouveau\ninstall nvidia-uvm /bin/false\n");
  dir_.WriteFile("usr/lib/modprobe.d/a.conf", "blacklist nvidia\n");
  dir_.WriteFile("usr/lib/modprobe.d/b.conf", "options vfio-pci ids=10de:20b5\n");
  const KernelFacts facts = Read();
  EXPECT_THAT(facts.blacklist,
              ElementsAre(Blacklisted{"/etc/modprobe.d/a.conf", "blacklist", "nouveau"},
                          Blacklisted{"/etc/modprobe.d/a.conf", "install", "nvidia_uvm"}));
  EXPECT_THAT(facts.guest_ids, ElementsAre("10de:20b5"));
}

TEST_F(KernelFactsTest, OfAnEmptyRootAreEmpty) {
  dir_.WriteFile("proc/sys/kernel/osrelease", "");
  const KernelFacts facts = Read();
  EXPECT_EQ(facts.release, "");
  EXPECT_FALSE(facts.dkms.has_value());
  EXPECT_THAT(unreadable_, IsEmpty());
}

}  // namespace
}  // namespace kgpu::host
