#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/host/features/label_text.h"
#include "src/host/features/read.h"
#include "src/host/features/sources.h"

namespace kgpu::features {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

// Labels without their namespace.
Attributes Labels(const FeatureSet& features, const FeatureOptions& options = {}) {
  constexpr std::string_view kNamespace = "feature.node.kubernetes.io/";
  Attributes labels;
  for (const auto& [key, value] : FeatureLabels(features, options)) {
    EXPECT_TRUE(key.starts_with(kNamespace)) << key;
    labels.emplace(key.substr(kNamespace.size()), value);
  }
  return labels;
}

TEST(FeatureLabelsTest, LeaveOutFlagsThatEveryCpuHas) {
  FeatureSet features;
  features.flags["cpu.cpuid"] = {"AVX512F", "SSE2", "NX"};
  EXPECT_THAT(Labels(features), ElementsAre(Pair("cpu-cpuid.AVX512F", "true")));
  FeatureOptions options;
  options.cpuid_allowed = {"SSE2"};
  EXPECT_THAT(Labels(features, options), ElementsAre(Pair("cpu-cpuid.SSE2", "true")));
}

TEST(FeatureLabelsTest, HaveWhatTheCpuIs) {
  FeatureSet features;
  features.attributes["cpu.cpuid"] = {{"AVX10_VERSION", "2"}};
  features.attributes["cpu.model"] = {{"vendor_id", "AMD"}};
  features.attributes["cpu.cstate"] = {{"enabled", "true"}};
  features.attributes["cpu.pstate"] = {{"status", "active"}};
  features.attributes["cpu.sst"] = {{"bf.enabled", "true"}};
  features.attributes["cpu.topology"] = {{"hardware_multithreading", "false"},
                                         {"socket_count", "2"}};
  features.attributes["cpu.coprocessor"] = {{"nx_gzip", "true"}};
  features.attributes["cpu.rdt"] = {{"RDTMON", "true"}};
  EXPECT_THAT(
      Labels(features),
      ElementsAre(Pair("cpu-coprocessor.nx_gzip", "true"), Pair("cpu-cpuid.AVX10_VERSION", "2"),
                  Pair("cpu-cstate.enabled", "true"), Pair("cpu-hardware_multithreading", "false"),
                  Pair("cpu-model.vendor_id", "AMD"), Pair("cpu-power.sst_bf.enabled", "true"),
                  Pair("cpu-pstate.status", "active")));
}

TEST(FeatureLabelsTest, LeaveOutAmounts) {
  FeatureSet features;
  features.attributes["cpu.security"] = {{"sev.enabled", "true"},
                                         {"sev.asids", "410"},
                                         {"sev.encrypted_state_ids", "99"},
                                         {"sgx.epc", "1"},
                                         {"tdx.total_keys", "1"}};
  EXPECT_THAT(Labels(features), ElementsAre(Pair("cpu-security.sev.enabled", "true")));
}

TEST(FeatureLabelsTest, CallModulesOfTheKernelTrue) {
  FeatureSet features;
  features.attributes["kernel.config"] = {
      {"NO_HZ", "y"}, {"PREEMPT", "m"}, {"HZ", "250"}, {"SMP", "y"}};
  FeatureOptions options;
  options.kernel_config_options.emplace_back("HZ");
  EXPECT_THAT(Labels(features, options),
              ElementsAre(Pair("kernel-config.HZ", "250"), Pair("kernel-config.NO_HZ", "true"),
                          Pair("kernel-config.PREEMPT", "true")));
}

TEST(FeatureLabelsTest, SayOnlyWhatIsThere) {
  FeatureSet features;
  features.attributes["iommu.device"] = {{"enabled", "false"}};
  features.attributes["kernel.selinux"] = {{"enabled", "false"}};
  features.attributes["memory.numa"] = {{"is_numa", "false"}, {"node_count", "1"}};
  features.attributes["memory.swap"] = {{"enabled", "false"}};
  features.instances["memory.nv"] = {};
  features.instances["network.device"] = {{{"sriov_totalvfs", "0"}, {"sriov_numvfs", "x"}}};
  features.instances["storage.block"] = {{{"rotational", "1"}}, {{"name", "ram0"}}};
  EXPECT_THAT(Labels(features), IsEmpty());
}

TEST(FeatureLabelsTest, SayAllThatIsThere) {
  FeatureSet features;
  features.attributes["iommu.device"] = {{"enabled", "true"}};
  features.attributes["kernel.selinux"] = {{"enabled", "true"}};
  features.attributes["memory.numa"] = {{"is_numa", "true"}};
  features.attributes["memory.swap"] = {{"enabled", "true"}};
  features.instances["memory.nv"] = {{{"devtype", "nd_dax"}}};
  features.instances["network.device"] = {{{"sriov_totalvfs", "8"}}, {{"sriov_numvfs", "2"}}};
  features.instances["storage.block"] = {{{"rotational", "1"}}, {{"rotational", "0"}}};
  EXPECT_THAT(
      Labels(features),
      ElementsAre(Pair("iommu-enabled", "true"), Pair("kernel-selinux.enabled", "true"),
                  Pair("memory-numa", "true"), Pair("memory-nv.dax", "true"),
                  Pair("memory-nv.present", "true"), Pair("memory-swap", "true"),
                  Pair("network-sriov.capable", "true"), Pair("network-sriov.configured", "true"),
                  Pair("storage-nonrotationaldisk", "true")));
}

TEST(FeatureLabelsTest, NamePciDevicesOfTheClassesAskedFor) {
  FeatureSet features;
  features.instances["pci.device"] = {
      {{"class", "0302"}, {"vendor", "10de"}, {"device", "20b2"}, {"sriov_totalvfs", "16"}},
      {{"class", "0200"}, {"vendor", "8086"}, {"device", "159b"}}};
  EXPECT_THAT(Labels(features), ElementsAre(Pair("pci-0302_10de.present", "true"),
                                            Pair("pci-0302_10de.sriov.capable", "true")));
  FeatureOptions options;
  options.pci_classes = {"02"};
  options.pci_label_fields = {"vendor", "device"};
  EXPECT_THAT(Labels(features, options), ElementsAre(Pair("pci-8086_159b.present", "true")));
  options.pci_label_fields = {"colour"};
  EXPECT_THAT(Labels(features, options), ElementsAre(Pair("pci-0200_8086.present", "true")));
}

TEST(FeatureLabelsTest, NameUsbDevicesOfTheClassesAskedFor) {
  FeatureSet features;
  features.instances["usb.device"] = {
      {{"class", "0e"}, {"vendor", "046d"}, {"device", "085c"}, {"serial", "A1"}},
      {{"class", "09"}, {"vendor", "1d6b"}, {"device", "0002"}}};
  EXPECT_THAT(Labels(features), ElementsAre(Pair("usb-0e_046d_085c.present", "true")));
  FeatureOptions options;
  options.usb_label_fields = {"serial", "class"};
  EXPECT_THAT(Labels(features, options), ElementsAre(Pair("usb-0e_A1.present", "true")));
}

TEST(FeatureLabelsTest, HaveWhatTheOperatingSystemIs) {
  FeatureSet features;
  features.attributes["system.osrelease"] = {{"ID", "rhcos"},
                                             {"NAME", "Red Hat CoreOS"},
                                             {"OSTREE_VERSION", "418.94"},
                                             {"VERSION_ID", "4.18"}};
  EXPECT_THAT(Labels(features), ElementsAre(Pair("system-os_release.ID", "rhcos"),
                                            Pair("system-os_release.OSTREE_VERSION", "418.94"),
                                            Pair("system-os_release.VERSION_ID", "4.18")));
}

TEST(FeatureLabelsTest, KnowRdma) {
  FeatureSet features;
  features.instances["pci.device"] = {{{"vendor", "15b3"}}};
  features.flags["kernel.loadedmodule"] = {"ib_uverbs"};
  EXPECT_THAT(Labels(features),
              ElementsAre(Pair("custom-rdma.capable", "true"), Pair("rdma.capable", "true")));
  features.flags["kernel.loadedmodule"].insert("rdma_ucm");
  EXPECT_THAT(Labels(features), SizeIs(4));
}

TEST(FeatureLabelsTest, LeaveOutWhatKubernetesWouldRefuse) {
  FeatureSet features;
  features.attributes["system.osrelease"] = {{"ID", "my os"}, {"VERSION_ID", "1"}};
  std::vector<Problem> problems;
  EXPECT_THAT(FeatureLabels(features, {}, &problems), SizeIs(1));
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_EQ(problems[0].source, "system");
  EXPECT_THAT(problems[0].text, HasSubstr("os_release.ID=my os"));
}

TEST(FeatureLabelsTest, AreThoseOfTheSourcesAskedFor) {
  FeatureSet features;
  features.attributes["memory.swap"] = {{"enabled", "true"}};
  features.attributes["cpu.model"] = {{"family", "6"}};
  FeatureOptions options;
  options.label_sources = {"all", "-cpu"};
  EXPECT_THAT(Labels(features, options), ElementsAre(Pair("memory-swap", "true")));
}

TEST(SourcesTest, CountTheLastWord) {
  EXPECT_TRUE(IsSourceWanted({"all"}, "cpu"));
  EXPECT_TRUE(IsSourceWanted({"cpu", "pci"}, "cpu"));
  EXPECT_FALSE(IsSourceWanted({"pci"}, "cpu"));
  EXPECT_FALSE(IsSourceWanted({"all", "-cpu"}, "cpu"));
  EXPECT_TRUE(IsSourceWanted({"-cpu", "all"}, "cpu"));
  EXPECT_FALSE(IsSourceWanted({}, "cpu"));
}

TEST(LabelTextTest, KnowsKeys) {
  for (const std::string_view key :
       {"a", "A.b-c_d", "example.com/a", "a-1.b/X", "feature.node.kubernetes.io/cpu-cpuid.AVX"}) {
    EXPECT_TRUE(IsLabelKey(key)) << key;
  }
  for (const std::string_view key :
       {"", "/a", "a/", "A.com/a", "a..b/c", "-a/b", "a/b/c", "a b", ".a", "a.", "a_b.com/c"}) {
    EXPECT_FALSE(IsLabelKey(key)) << key;
  }
  EXPECT_TRUE(IsLabelKey(std::string(63, 'a')));
  EXPECT_FALSE(IsLabelKey(std::string(64, 'a')));
  EXPECT_FALSE(IsLabelKey(std::string(254, 'a') + "/a"));
}

TEST(LabelTextTest, KnowsValues) {
  EXPECT_TRUE(IsLabelValue(""));
  EXPECT_TRUE(IsLabelValue("6.1.0-18"));
  EXPECT_FALSE(IsLabelValue("a b"));
  EXPECT_FALSE(IsLabelValue("-a"));
}

}  // namespace
}  // namespace kgpu::features
