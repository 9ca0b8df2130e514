#include <array>

#include "testing/simhost/plan.h"

namespace kgpu::simhost {
namespace {

// Offsets in the header and capability numbers. Source: PCI Local Bus 3.0 chapter 6, PCI Express
// Base 3.1 chapter 7.8.
constexpr size_t kPowerManagement = 0x60;
constexpr size_t kMsiX = 0xb0;
constexpr size_t kExpress = 0x78;

using Space = std::array<unsigned char, 256>;

void Put8(Space& space, size_t at, unsigned value) {
  space.at(at) = static_cast<unsigned char>(value);
}

void Put16(Space& space, size_t at, unsigned value) {
  Put8(space, at, value & 0xff);
  Put8(space, at + 1, (value >> 8) & 0xff);
}

void Put32(Space& space, size_t at, unsigned value) {
  Put16(space, at, value & 0xffff);
  Put16(space, at + 2, value >> 16);
}

void PutEndpoint(Space& space, const PciHeader& header) {
  Put32(space, 0x10, 0xb4000000);  // BAR0: registers, 32 bit
  Put32(space, 0x14, 0x0000000c);  // BAR1: framebuffer window, 64 bit, prefetchable
  Put32(space, 0x18, 0x00004000);
  Put32(space, 0x1c, 0x0000000c);  // BAR3: 64 bit, prefetchable
  Put32(space, 0x20, 0x00006000);
  Put16(space, 0x2c, header.subsystem_vendor);
  Put16(space, 0x2e, header.subsystem_device);
}

void PutExpress(Space& space, const PciHeader& header) {
  Put8(space, kExpress, 0x10);
  Put8(space, kExpress + 1, kMsiX);
  Put16(space, kExpress + 2, header.is_bridge ? 0x0042 : 0x0002);  // version 2, port type
  const unsigned link = header.generation | (header.width << 4);
  Put32(space, kExpress + 0x0c, link);  // link capabilities
  Put16(space, kExpress + 0x12, link);  // link status
}

}  // namespace

std::string PciConfigSpace(const PciHeader& header) {
  Space space{};
  Put16(space, 0x00, header.vendor);
  Put16(space, 0x02, header.device);
  Put16(space, 0x04, 0x0406);  // memory space, bus master, no INTx
  Put16(space, 0x06, 0x0010);  // capability list present
  Put8(space, 0x08, header.revision);
  Put8(space, 0x09, header.class_code & 0xff);
  Put16(space, 0x0a, header.class_code >> 8);
  Put8(space, 0x0e, header.is_bridge ? 1 : 0);
  if (!header.is_bridge) {
    PutEndpoint(space, header);
  }
  Put8(space, 0x34, kPowerManagement);
  Put8(space, kPowerManagement, 0x01);
  Put8(space, kPowerManagement + 1, kExpress);
  Put16(space, kPowerManagement + 2, 0x0003);
  PutExpress(space, header);
  Put8(space, kMsiX, 0x11);
  Put16(space, kMsiX + 2, 0x0005);
  return {space.begin(), space.end()};
}

}  // namespace kgpu::simhost
