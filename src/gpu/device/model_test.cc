#include "src/gpu/device/model.h"

#include <gtest/gtest.h>

#include <string>

namespace kgpu::device {
namespace {

TEST(ModelIdTest, KnowsModelsByPciIdOrName) {
  struct Case {
    std::string name;
    uint16_t pci_device_id;
    std::string model;
  };
  for (const Case& c :
       {Case{"NVIDIA A100-SXM4-80GB", 0x20b2, "A100-SXM4-80GB"},
        Case{"A100-SXM4-80GB", 0x20b2, "A100-SXM4-80GB"}, Case{"Tesla T4", 0x1eb8, "T4"},
        Case{"NVIDIA H100 80GB HBM3", 0x2330, "H100-SXM5-80GB"},
        Case{"NVIDIA H100 PCIe", 0x2331, "H100-PCIE-80GB"},
        Case{"NVIDIA H200", 0x2335, "H200-SXM5-141GB"}, Case{"NVIDIA L40S", 0x26b9, "L40S"},
        Case{"Tesla K80", 0x102d, "K80"}, Case{"Quadro K620", 0x13bb, "Quadro-K620"},
        // Not in the table: the name decides.
        Case{"NVIDIA GeForce RTX 4090", 0x2684, "GeForce-RTX-4090"},
        Case{"NVIDIA L40S", 0xffff, "L40S"}, Case{"Quadro K620", 0, "Quadro-K620"},
        Case{"Tesla V100-SXM2-16GB", 0, "V100-SXM2-16GB"},
        Case{"NVIDIA H100 80GB HBM3", 0, "H100-80GB-HBM3"}}) {
    EXPECT_EQ(ModelId(c.name, c.pci_device_id), c.model) << c.name;
  }
}

TEST(ModelIdTest, IsALabelValueWhateverTheDriverSays) {
  EXPECT_EQ(ModelId("", 0x1234), "PCI-10DE-1234");
  EXPECT_EQ(ModelId("\n??", 0x1234), "PCI-10DE-1234");
  EXPECT_EQ(ModelId("../../etc/passwd", 0), "etc-passwd");
  EXPECT_EQ(ModelId("A\x1b[31mB (rev. a1)", 0), "A-31mB-rev.-a1");
  EXPECT_EQ(ModelId(std::string(200, 'x'), 0), std::string(63, 'x'));
  EXPECT_EQ(ModelId(std::string(62, 'x') + "--y", 0), std::string(62, 'x'));
}

TEST(ArchitectureNameTest, PrefersTheDriversNumber) {
  EXPECT_EQ(ArchitectureName(7, std::nullopt), "ampere");
  EXPECT_EQ(ArchitectureName(10, ComputeCapability{9, 0}), "blackwell");
}

TEST(ArchitectureNameTest, FallsBackToTheComputeCapability) {
  struct Case {
    ComputeCapability compute;
    std::string name;
  };
  for (const Case& c : {Case{{3, 7}, "kepler"}, Case{{5, 0}, "maxwell"}, Case{{6, 1}, "pascal"},
                        Case{{7, 0}, "volta"}, Case{{7, 5}, "turing"}, Case{{8, 0}, "ampere"},
                        Case{{8, 9}, "ada"}, Case{{9, 0}, "hopper"}, Case{{10, 0}, "blackwell"},
                        Case{{12, 0}, "blackwell"}, Case{{99, 0}, ""}}) {
    EXPECT_EQ(ArchitectureName(std::nullopt, c.compute), c.name);
    EXPECT_EQ(ArchitectureName(0xffffffff, c.compute), c.name);
  }
  EXPECT_EQ(ArchitectureName(std::nullopt, std::nullopt), "");
}

TEST(BrandNameTest, NamesWhatItKnows) {
  EXPECT_EQ(BrandName(2), "Tesla");
  EXPECT_EQ(BrandName(14), "NVIDIA");
  EXPECT_EQ(BrandName(0), "");
  EXPECT_EQ(BrandName(1000), "");
}

}  // namespace
}  // namespace kgpu::device
