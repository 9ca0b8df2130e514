#include "src/node/pods/pod_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::pods {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Container kTrain{.pod_namespace = "ml", .pod = "train", .container = "main", .pod_uid = ""};
const Container kServe{.pod_namespace = "ml", .pod = "serve", .container = "main", .pod_uid = ""};

TEST(PodMapTest, NamesTheDeviceOfAReplica) {
  EXPECT_EQ(DeviceOf("GPU-1::3"), "GPU-1");
  EXPECT_EQ(DeviceOf("MIG-1"), "MIG-1");
  EXPECT_EQ(DeviceOf(""), "");
}

TEST(PodMapTest, ListsEachUserOfADeviceOnce) {
  const PodMap map{.devices = {{"nvidia.com/gpu", "GPU-1::0", kTrain},
                               {"nvidia.com/gpu", "GPU-1::1", kTrain},
                               {"nvidia.com/gpu", "GPU-1::2", kServe},
                               {"nvidia.com/gpu", "GPU-2", kServe}},
                   .processes = {},
                   .problem = ""};
  EXPECT_THAT(UsersOf(map, "GPU-1"), ElementsAre(kServe, kTrain));
  EXPECT_THAT(UsersOf(map, "GPU-2"), ElementsAre(kServe));
  EXPECT_THAT(UsersOf(map, "GPU-"), IsEmpty());
}

}  // namespace
}  // namespace kgpu::pods
