#include "src/node/plugin/delivery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::plugin {
namespace {

using config::DeviceListStrategy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kFolder[] = "/var/run/cdi";

cri::RuntimeFacts Containerd(bool reads_cdi) {
  return {.name = "containerd",
          .version = "1.7.24",
          .reads_cdi = reads_cdi,
          .cdi_folders = {"/etc/cdi", "/run/cdi"},
          .default_runtime = "runc",
          .runtimes = {},
          .is_nvidia_default = false,
          .evidence = "containerd 1.7.24: evidence"};
}

TEST(DeliveryTest, UsesCdiWhereTheRuntimeProvesThatItReadsIt) {
  const Delivery delivery = DecideDelivery({}, Containerd(true), OkStatus(), kFolder);
  EXPECT_THAT(delivery.strategies, ElementsAre(DeviceListStrategy::kCdiCri));
  EXPECT_THAT(delivery.reason, HasSubstr("evidence"));
}

TEST(DeliveryTest, NeedsNothingOfARuntimeThatProvesNothing) {
  for (const Delivery& delivery :
       {DecideDelivery({}, Containerd(false), OkStatus(), kFolder),
        DecideDelivery({}, NotFound("no socket"), OkStatus(), kFolder),
        DecideDelivery({}, Containerd(true), FailedPrecondition("read-only"), kFolder),
        DecideDelivery({}, Containerd(true), OkStatus(), "/opt/cdi")}) {
    EXPECT_THAT(delivery.strategies,
                ElementsAre(DeviceListStrategy::kDeviceSpecs, DeviceListStrategy::kMounts));
    EXPECT_FALSE(delivery.reason.empty());
  }
}

TEST(DeliveryTest, SaysHowNvidiasDefaultRuntimeIsKeptStill) {
  cri::RuntimeFacts runtime = Containerd(true);
  runtime.is_nvidia_default = true;
  EXPECT_THAT(DecideDelivery({}, runtime, OkStatus(), kFolder).reason,
              HasSubstr("NVIDIA_VISIBLE_DEVICES=void"));
}

TEST(DeliveryTest, DoesWhatTheConfigurationSays) {
  config::PluginConfig config;
  config.strategies = {DeviceListStrategy::kEnvvar, DeviceListStrategy::kDeviceSpecs};
  const Delivery delivery = DecideDelivery(config, Containerd(true), OkStatus(), kFolder);
  EXPECT_THAT(delivery.strategies,
              ElementsAre(DeviceListStrategy::kEnvvar, DeviceListStrategy::kDeviceSpecs));
  EXPECT_EQ(ToString(delivery.strategies), "Envvar+DeviceSpecs");
}

}  // namespace
}  // namespace kgpu::plugin
