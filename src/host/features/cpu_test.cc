// The parts of the source "cpu" that come from files.
#include "src/host/features/test_host.h"

namespace kgpu::features {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

Attributes Read(const TestHost& host, const std::string& feature) {
  return host.Read("cpu").features.attributes[feature];
}

// An Intel CPU of 2.0 GHz with cache monitoring and allocation.
constexpr const char* kIntel =
    "0x0 0x0: eax=0x16 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n"
    "0x7 0x0: eax=0x0 ebx=0x8000 ecx=0x0 edx=0x0\n"
    "0x10 0x0: eax=0x0 ebx=0x2 ecx=0x0 edx=0x0\n"
    "0x16 0x0: eax=0x7d0 ebx=0xdac ecx=0x64 edx=0x0\n";

TEST(CpuTopologyTest, CountsSocketsAndSeesThreads) {
  EXPECT_THAT(Read(TestHost("@cpus 0-31 sockets=2 threads=2"), "cpu.topology"),
              ElementsAre(Pair("hardware_multithreading", "true"), Pair("socket_count", "2")));
  EXPECT_THAT(Read(TestHost("@cpus 0-31 sockets=4"), "cpu.topology"),
              ElementsAre(Pair("hardware_multithreading", "false"), Pair("socket_count", "4")));
}

TEST(CpuTopologyTest, SeesThreadsOnKernelsThatDoNotSaySo) {
  EXPECT_EQ(Read(TestHost("@cpus 0-7 threads=2 no-smt"), "cpu.topology")["hardware_multithreading"],
            "true");
  EXPECT_EQ(Read(TestHost("@cpus 0-7 no-smt"), "cpu.topology")["hardware_multithreading"], "false");
}

TEST(CpuTopologyTest, LeavesOutCpusThatAreSwitchedOff) {
  EXPECT_THAT(Read(TestHost("@cpus 0-7 sockets=2 threads=2 offline=0,5"), "cpu.topology"),
              ElementsAre(Pair("hardware_multithreading", "true"), Pair("socket_count", "2")));
}

TEST(CpuTopologyTest, ClaimsNothingWithoutTopology) {
  EXPECT_THAT(Read(TestHost("[sys/devices/system/cpu/cpu0]"), "cpu.topology"), IsEmpty());
}

TEST(CpuTopologyTest, NamesKindsOfCores) {
  EXPECT_THAT(
      Read(TestHost("[sys/devices]\ncpu_core/cpus = 0-15\ncpu_atom/cpus = 16-23"), "cpu.topology"),
      ElementsAre(Pair("cpu_atom", "true"), Pair("cpu_core", "true")));
}

constexpr const char* kIdle =
    "[sys]\n"
    "devices/system/cpu/cpuidle/current_driver = intel_idle\n"
    "module/intel_idle/parameters/max_cstate = ";

TEST(CpuIdleTest, IsOnWhenTheDriverHasStates) {
  EXPECT_THAT(Read(TestHost(std::string(kIdle) + "9"), "cpu.cstate"),
              ElementsAre(Pair("enabled", "true")));
  EXPECT_THAT(Read(TestHost(std::string(kIdle) + "0"), "cpu.cstate"),
              ElementsAre(Pair("enabled", "false")));
}

TEST(CpuIdleTest, IsUnsaidUnderOtherDrivers) {
  EXPECT_THAT(
      Read(TestHost("[sys/devices/system/cpu/cpuidle]\ncurrent_driver = acpi_idle"), "cpu.cstate"),
      IsEmpty());
}

TEST(CpuIdleTest, ComplainsOfANumberThatIsNone) {
  const Reading reading = TestHost(std::string(kIdle) + "many").Read("cpu");
  EXPECT_THAT(reading.problems, testing::Contains(testing::Field(
                                    &Problem::text, HasSubstr("max_cstate: \"many\" is not"))));
}

constexpr const char* kActive =
    "[sys/devices/system/cpu/intel_pstate]\nstatus = active\nno_turbo = 0\n[]\n";

TEST(CpuFrequencyTest, TellsStatusTurboAndGovernor) {
  EXPECT_THAT(Read(TestHost(std::string(kActive) + "@cpus 0-3 governor=powersave"), "cpu.pstate"),
              ElementsAre(Pair("scaling_governor", "powersave"), Pair("status", "active"),
                          Pair("turbo", "true")));
}

TEST(CpuFrequencyTest, TellsNoGovernorWhenTheyDiffer) {
  const TestHost host(std::string(kActive) + "@cpus 0-3 governor=powersave");
  host.dir().WriteFile("sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "performance\n");
  EXPECT_THAT(Read(host, "cpu.pstate"),
              ElementsAre(Pair("status", "active"), Pair("turbo", "true")));
  // Unless all CPUs of that policy are off.
  host.dir().WriteFile("sys/devices/system/cpu/cpufreq/policy2/affected_cpus", "\n");
  EXPECT_EQ(Read(host, "cpu.pstate")["scaling_governor"], "powersave");
}

TEST(CpuFrequencyTest, TellsNoGovernorOfAPassiveDriver) {
  EXPECT_THAT(Read(TestHost("[sys/devices/system/cpu/intel_pstate]\nstatus = passive\n"
                            "no_turbo = 1\n[]\n@cpus 0 governor=schedutil"),
                   "cpu.pstate"),
              ElementsAre(Pair("status", "passive"), Pair("turbo", "false")));
}

TEST(CpuFrequencyTest, TellsNothingOfADriverThatIsOff) {
  EXPECT_THAT(Read(TestHost("[sys/devices/system/cpu/intel_pstate]\nstatus = off"), "cpu.pstate"),
              IsEmpty());
}

TEST(CpuFrequencyTest, SeesCoresFasterThanNominal) {
  TestHost fast(std::string(kActive) + "@cpus 0-3 governor=powersave base_khz=2300000");
  fast.SetCpuid(kIntel);
  EXPECT_THAT(Read(fast, "cpu.sst"), ElementsAre(Pair("bf.enabled", "true")));
  TestHost usual(std::string(kActive) + "@cpus 0-3 governor=powersave base_khz=2000000");
  usual.SetCpuid(kIntel);
  EXPECT_THAT(Read(usual, "cpu.sst"), IsEmpty());
}

TEST(CpuFrequencyTest, SeesFasterCoresOfOnePackageAmongSeveral) {
  TestHost host(std::string(kActive) + "@cpus 0-7 sockets=2 governor=powersave base_khz=2000000");
  host.SetCpuid(kIntel);
  const std::string policies = "sys/devices/system/cpu/cpufreq/policy";
  for (const char* cpu : {"4", "5", "6"}) {
    host.dir().WriteFile(policies + cpu + "/base_frequency", "1800000\n");
  }
  host.dir().WriteFile(policies + "7/base_frequency", "2600000\n");
  EXPECT_THAT(Read(host, "cpu.sst"), ElementsAre(Pair("bf.enabled", "true")));
}

TEST(CpuFrequencyTest, ComplainsWhenTheNominalFrequencyIsNotKnown) {
  const TestHost host(std::string(kActive) + "@cpus 0-3 governor=powersave base_khz=2000000");
  EXPECT_THAT(host.Read("cpu").problems,
              testing::Contains(testing::Field(&Problem::text, HasSubstr("nominal frequency"))));
}

TEST(CpuRdtTest, TellsHowManyGroupsThereCanBe) {
  TestHost host("[sys/fs/resctrl/info/L3]\nnum_closids = 16");
  host.SetCpuid(kIntel);
  EXPECT_THAT(Read(host, "cpu.rdt"),
              ElementsAre(Pair("RDTL3CA", "true"), Pair("RDTL3CA_NUM_CLOSID", "15")));
}

TEST(CpuSecurityTest, TellsWhatKvmOffersAndHowMuch) {
  EXPECT_THAT(
      Read(TestHost("[sys/module/kvm_amd/parameters]\nsev = Y\nsev_es = 1\nsev_snp = N\n"
                    "[sys/fs/cgroup]\nmisc.capacity <<<\nsev_es 99\nsev 410\n>>>"),
           "cpu.security"),
      UnorderedElementsAre(Pair("sev.enabled", "true"), Pair("sev.asids", "410"),
                           Pair("sev.es.enabled", "true"), Pair("sev.encrypted_state_ids", "99")));
  EXPECT_THAT(Read(TestHost("[sys]\nmodule/kvm_intel/parameters/tdx = Y\n"
                            "fs/cgroup/misc/misc.capacity = tdx 31"),
                   "cpu.security"),
              UnorderedElementsAre(Pair("tdx.enabled", "true"), Pair("tdx.total_keys", "31")));
}

TEST(CpuSecurityTest, KnowsSecureExecution) {
  EXPECT_THAT(Read(TestHost("[sys/firmware/uv]\nprot_virt_host = 1"), "cpu.security"),
              ElementsAre(Pair("se.enabled", "true")));
}

TEST(CpuTest, ReadsCpuInfoWhereThereIsNoCpuid) {
  const Reading reading =
      TestHost("[proc]\ncpuinfo <<<\nFeatures : fp cpuid\nCPU implementer : 0x4e\n>>>").Read("cpu");
  EXPECT_THAT(reading.features.flags.at("cpu.cpuid"), ElementsAre("CPUID", "FP"));
  EXPECT_EQ(reading.features.attributes.at("cpu.model").at("vendor_id"), "NVIDIA");
  EXPECT_THAT(reading.problems, IsEmpty());
}

TEST(CpuTest, SaysThatItKnowsNothing) {
  EXPECT_THAT(TestHost("[proc]").Read("cpu").problems, SizeIs(1));
}

TEST(CpuTest, KnowsCompressionOfPower) {
  EXPECT_THAT(
      Read(TestHost("[sys/devices/vio/ibm,compression-v1/nx_gzip_caps]"), "cpu.coprocessor"),
      ElementsAre(Pair("nx_gzip", "true")));
}

}  // namespace
}  // namespace kgpu::features
