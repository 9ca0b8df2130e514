#include "src/host/features/test_host.h"

namespace kgpu::features {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Attributes ReadMemory(std::string_view tree, const std::string& feature) {
  return TestHost(tree).Read("memory").features.attributes[feature];
}

TEST(MemoryTest, CountsNumaNodes) {
  EXPECT_THAT(ReadMemory("[sys/bus/node/devices]\nnode0/\nnode1/", "memory.numa"),
              ElementsAre(Pair("is_numa", "true"), Pair("node_count", "2")));
  EXPECT_THAT(ReadMemory("[sys/bus/node/devices]\nnode0/", "memory.numa"),
              ElementsAre(Pair("is_numa", "false"), Pair("node_count", "1")));
}

TEST(MemoryTest, SeesSwap) {
  constexpr const char* kHeading = "[proc]\nswaps <<<\nFilename Type Size Used Priority\n";
  EXPECT_THAT(ReadMemory(std::string(kHeading) + ">>>", "memory.swap"),
              ElementsAre(Pair("enabled", "false")));
  EXPECT_THAT(
      ReadMemory(std::string(kHeading) + "/dev/dm-1 partition 4194300 0 -2\n>>>", "memory.swap"),
      ElementsAre(Pair("enabled", "true")));
  EXPECT_THAT(ReadMemory("[proc]", "memory.swap"), ElementsAre(Pair("enabled", "false")));
}

TEST(MemoryTest, NamesHugePagesAsKubernetesDoes) {
  EXPECT_THAT(ReadMemory("[sys/kernel/mm/hugepages]\nhugepages-2048kB/nr_hugepages = 512\n"
                         "hugepages-1048576kB/nr_hugepages = 0\nhugepages-64kB/nr_hugepages = 0\n"
                         "other/nr_hugepages = 1",
                         "memory.hugepages"),
              ElementsAre(Pair("enabled", "true"), Pair("hugepages-1Gi", "0"),
                          Pair("hugepages-2Mi", "512"), Pair("hugepages-64Ki", "0")));
  EXPECT_THAT(ReadMemory("[sys]", "memory.hugepages"), ElementsAre(Pair("enabled", "false")));
}

TEST(MemoryTest, ListsNonVolatileMemory) {
  EXPECT_THAT(TestHost("[sys/bus/nd/devices]\nnamespace0.0/devtype = nd_namespace_io\n"
                       "namespace0.0/mode = fsdax")
                  .Read("memory")
                  .features.instances.at("memory.nv"),
              ElementsAre(Attributes{
                  {"name", "namespace0.0"}, {"devtype", "nd_namespace_io"}, {"mode", "fsdax"}}));
  EXPECT_THAT(TestHost("[sys]").Read("memory").features.instances.at("memory.nv"), IsEmpty());
}

}  // namespace
}  // namespace kgpu::features
