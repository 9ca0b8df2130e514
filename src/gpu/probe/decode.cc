#include "src/gpu/probe/decode.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "src/gpu/nvml/error_map.h"
#include "src/gpu/probe/payload.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::probe {
namespace {

// Text of a fixed array. What a driver library may write that no terminal should see is escaped.
template <size_t kSize>
StatusOr<std::string> Text(const char (&text)[kSize], std::string_view what) {
  const void* end = std::memchr(text, '\0', kSize);
  if (end == nullptr) {
    return InvalidArgument("probe frame: {} is not terminated", what);
  }
  const std::string_view view(text, static_cast<size_t>(static_cast<const char*>(end) - text));
  return Printable(Trim(view), kSize);
}

StatusOr<device::PciBusId> Pci(const PciAddress& address) {
  if (address.bus > 0xff || address.device > 0x1f) {
    return InvalidArgument("probe frame: PCI address {:x}:{:x}:{:x} is out of range",
                           address.domain, address.bus, address.device);
  }
  return device::PciBusId{.domain = address.domain,
                          .bus = static_cast<uint8_t>(address.bus),
                          .device = static_cast<uint8_t>(address.device),
                          .function = 0};
}

bool Has(int32_t result) {
  return result == nvml::kSuccess;
}

std::optional<nvml::Return> FirstFault(std::span<const int32_t> results) {
  for (const int32_t result : results) {
    if (const auto code = static_cast<nvml::Return>(result); !nvml::IsBenign(code)) {
      return code;
    }
  }
  return std::nullopt;
}

StatusOr<FrameHeader> ReadHeader(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(FrameHeader) || bytes.size() > kMaxFrameSize) {
    return InvalidArgument("probe frame: invalid length of {} bytes", bytes.size());
  }
  ASSIGN_OR_RETURN(const FrameHeader header,
                   Read<FrameHeader>(bytes.first(sizeof(FrameHeader)), "header"));
  if (header.magic != kMagic) {
    return InvalidArgument("probe frame: magic is {:#x}, must be {:#x}", header.magic, kMagic);
  }
  if (header.version != kProtocolVersion) {
    return InvalidArgument(
        "probe frame: protocol version is {}, must be {}: install kgpu and kgpu-probe of the same "
        "release",
        header.version, kProtocolVersion);
  }
  if (header.size != bytes.size()) {
    return InvalidArgument("probe frame: {} bytes announced, {} received", header.size,
                           bytes.size());
  }
  return header;
}

StatusOr<Frame> ReadHello(std::span<const std::byte> bytes) {
  ASSIGN_OR_RETURN(const auto frame, Read<HelloFrame>(bytes, "hello"));
  ASSIGN_OR_RETURN(std::string build, Text(frame.build, "build"));
  return Hello{.pid = frame.pid, .build = std::move(build)};
}

StatusOr<Frame> ReadReply(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(ReplyHeader)) {
    return InvalidArgument("probe frame: reply of {} bytes", bytes.size());
  }
  ASSIGN_OR_RETURN(const auto head,
                   Read<ReplyHeader>(bytes.first(sizeof(ReplyHeader)), "reply head"));
  if (head.op == 0 || head.op > kLastOp) {
    return InvalidArgument("probe frame: reply to unknown request kind {}", head.op);
  }
  if (head.payload_size != bytes.size() - sizeof(ReplyHeader)) {
    return InvalidArgument("probe frame: payload of {} bytes announced, {} received",
                           head.payload_size, bytes.size() - sizeof(ReplyHeader));
  }
  return Reply{.id = head.header.id,
               .op = static_cast<Op>(head.op),
               .result = static_cast<nvml::Return>(head.result),
               .payload = bytes.subspan(sizeof(ReplyHeader))};
}

std::optional<unsigned> Instance(uint32_t id) {
  return id == nvml::kNoInstance ? std::nullopt : std::optional<unsigned>(id);
}

StatusOr<Frame> ReadEvent(std::span<const std::byte> bytes) {
  ASSIGN_OR_RETURN(const auto frame, Read<EventFrame>(bytes, "event"));
  ASSIGN_OR_RETURN(const std::string uuid, Text(frame.uuid, "UUID"));
  Event event{.result = static_cast<nvml::Return>(frame.result),
              .type = frame.type,
              .data = frame.data,
              .uuid = std::nullopt,
              .gpu_instance = Instance(frame.gpu_instance),
              .compute_instance = Instance(frame.compute_instance)};
  // An invalid name leaves the event without a GPU: the inventory then looks at all of them.
  if (auto parsed = device::GpuUuid::Parse(uuid); parsed.ok()) {
    event.uuid = *std::move(parsed);
  }
  return event;
}

device::NvLinkPeer LinkPeer(int32_t type) {
  switch (type) {
    case nvml::kNvLinkDeviceGpu:
      return device::NvLinkPeer::kGpu;
    case nvml::kNvLinkDeviceSwitch:
      return device::NvLinkPeer::kSwitch;
    case nvml::kNvLinkDeviceIbmNpu:
      return device::NvLinkPeer::kOther;
    default:
      return device::NvLinkPeer::kUnknown;
  }
}

bool IsLevel(int16_t level) {
  return level >= nvml::kTopologyInternal && level <= nvml::kTopologySystem && level % 10 == 0;
}

int32_t ResultOf(const GpuPayload& payload, GpuField field) {
  return payload.results[static_cast<uint32_t>(field)];
}
bool Has(const GpuPayload& payload, GpuField field) {
  return Has(ResultOf(payload, field));
}
bool Has(const MigPayload& payload, MigField field) {
  return Has(payload.results[static_cast<uint32_t>(field)]);
}

// Nothing for a GPU that is not (yet) a member of a fabric, and for one whose fabric includes no
// other host: its cluster's UUID is all zeros.
std::optional<device::FabricId> FabricOf(const GpuPayload& payload) {
  const std::span<const uint8_t, 16> uuid(payload.fabric_cluster);
  if (!Has(payload, GpuField::kFabric) || payload.fabric_state != nvml::kFabricStateCompleted ||
      payload.fabric_status != nvml::kSuccess ||
      std::ranges::all_of(uuid, [](uint8_t byte) { return byte == 0; })) {
    return std::nullopt;
  }
  return device::FabricId{.cluster_uuid = fmt::format(
                              "{:02x}-{:02x}-{:02x}-{:02x}-{:02x}", fmt::join(uuid.first(4), ""),
                              fmt::join(uuid.subspan(4, 2), ""), fmt::join(uuid.subspan(6, 2), ""),
                              fmt::join(uuid.subspan(8, 2), ""), fmt::join(uuid.last(6), "")),
                          .clique_id = payload.fabric_clique};
}

void FillNumbers(const GpuPayload& payload, GpuReport* report) {
  if (Has(payload, GpuField::kMinor)) {
    report->minor = payload.minor;
  }
  if (Has(payload, GpuField::kBrand)) {
    report->brand = payload.brand;
  }
  if (Has(payload, GpuField::kArchitecture)) {
    report->architecture = payload.architecture;
  }
  if (Has(payload, GpuField::kCompute)) {
    report->compute = {.major = payload.compute_major, .minor = payload.compute_minor};
  }
  if (Has(payload, GpuField::kMemory)) {
    report->memory = Bytes{payload.memory_bytes};
    report->usable_memory =
        Bytes{payload.memory_bytes - std::min(payload.reserved_bytes, payload.memory_bytes)};
  }
  if (Has(payload, GpuField::kEcc)) {
    report->is_ecc_enabled = payload.is_ecc_enabled != 0;
  }
  if (Has(payload, GpuField::kMig)) {
    report->mig_mode = {.is_enabled = payload.is_mig_enabled != 0,
                        .is_pending_enabled = payload.is_mig_pending != 0};
  }
  // Some drivers write "no node" as -1.
  if (Has(payload, GpuField::kNuma) && payload.numa_node < (1U << 16)) {
    report->numa_node = payload.numa_node;
  }
}

Status FillTexts(const GpuPayload& payload, GpuReport* report) {
  const auto fill = [&](GpuField field, const auto& text, std::string_view what,
                        std::string* target) -> Status {
    ASSIGN_OR_RETURN(std::string value, Text(text, what));
    if (Has(payload, field)) {
      *target = std::move(value);
    }
    return OkStatus();
  };
  RETURN_IF_ERROR(fill(GpuField::kName, payload.name, "name", &report->name));
  RETURN_IF_ERROR(fill(GpuField::kSerial, payload.serial, "serial", &report->serial));
  return fill(GpuField::kVbios, payload.vbios, "VBIOS version", &report->vbios);
}

}  // namespace

StatusOr<Frame> DecodeFrame(std::span<const std::byte> bytes) {
  ASSIGN_OR_RETURN(const FrameHeader header, ReadHeader(bytes));
  switch (static_cast<FrameKind>(header.kind)) {
    case FrameKind::kHello:
      return ReadHello(bytes);
    case FrameKind::kReply:
      return ReadReply(bytes);
    case FrameKind::kEvent:
      return ReadEvent(bytes);
    case FrameKind::kProgress:
      RETURN_IF_ERROR(Read<FrameHeader>(bytes, "progress").status());
      return Progress{.id = header.id};
    case FrameKind::kRequest:
      break;
  }
  return InvalidArgument("probe frame: unknown kind {}", header.kind);
}

StatusOr<std::string> DecodeInit(std::span<const std::byte> payload) {
  ASSIGN_OR_RETURN(const auto init, Read<InitPayload>(payload, "reply to init"));
  return Text(init.error, "loader message");
}

StatusOr<DriverReport> DecodeDriver(std::span<const std::byte> payload) {
  ASSIGN_OR_RETURN(const auto driver, Read<DriverPayload>(payload, "driver"));
  if (driver.gpu_count > kMaxGpus) {
    return InvalidArgument("probe frame: {} GPUs exceed the limit of {}", driver.gpu_count,
                           kMaxGpus);
  }
  DriverReport report;
  report.gpu_count = driver.gpu_count;
  ASSIGN_OR_RETURN(std::string driver_version, Text(driver.driver_version, "driver version"));
  ASSIGN_OR_RETURN(std::string nvml_version, Text(driver.nvml_version, "NVML version"));
  if (Has(driver.driver_version_result)) {
    report.driver_version = std::move(driver_version);
  }
  if (Has(driver.nvml_version_result)) {
    report.nvml_version = std::move(nvml_version);
  }
  if (Has(driver.cuda_version_result) && driver.cuda_version >= 0) {
    report.cuda_version = driver.cuda_version;
  }
  return report;
}

StatusOr<GpuReport> DecodeGpu(std::span<const std::byte> payload) {
  ASSIGN_OR_RETURN(const auto gpu, Read<GpuPayload>(payload, "GPU"));
  if (gpu.max_mig_devices > kMaxMigDevices) {
    return InvalidArgument("probe frame: {} MIG devices exceed the limit of {}",
                           gpu.max_mig_devices, kMaxMigDevices);
  }
  GpuReport report;
  FillNumbers(gpu, &report);
  RETURN_IF_ERROR(FillTexts(gpu, &report));
  ASSIGN_OR_RETURN(const std::string uuid, Text(gpu.uuid, "UUID"));
  if (Has(gpu, GpuField::kUuid)) {
    ASSIGN_OR_RETURN(report.uuid, device::GpuUuid::Parse(uuid));
  }
  if (Has(gpu, GpuField::kPci)) {
    ASSIGN_OR_RETURN(report.pci, Pci(gpu.pci));
    report.pci_device_id = static_cast<uint16_t>(gpu.pci_device_id >> 16);
    report.pci_vendor_id = static_cast<uint16_t>(gpu.pci_device_id & 0xffff);
  }
  if (Has(gpu, GpuField::kMaxMig)) {
    report.max_mig_devices = gpu.max_mig_devices;
  }
  report.fabric = FabricOf(gpu);
  // A fabric that does not answer speaks against the fabric, not against this GPU.
  report.fault = FirstFault(std::span(gpu.results).first<kGpuFieldCount - 1>());
  return report;
}

StatusOr<MigReport> DecodeMig(std::span<const std::byte> payload) {
  ASSIGN_OR_RETURN(const auto mig, Read<MigPayload>(payload, "MIG device"));
  MigReport report;
  ASSIGN_OR_RETURN(const std::string uuid, Text(mig.uuid, "MIG UUID"));
  ASSIGN_OR_RETURN(report.name, Text(mig.name, "MIG name"));
  if (Has(mig, MigField::kUuid)) {
    ASSIGN_OR_RETURN(report.uuid, device::MigUuid::Parse(uuid));
  }
  if (!Has(mig, MigField::kName)) {
    report.name.clear();
  }
  if (Has(mig, MigField::kGpuInstance)) {
    report.gpu_instance = mig.gpu_instance;
  }
  if (Has(mig, MigField::kComputeInstance)) {
    report.compute_instance = mig.compute_instance;
  }
  if (Has(mig, MigField::kAttributes)) {
    if (mig.memory_mib >> 32 != 0) {
      return InvalidArgument("probe frame: MIG device of {} MiB is out of range", mig.memory_mib);
    }
    report.attributes = {.gpu_instance_slices = mig.gpu_instance_slices,
                         .compute_instance_slices = mig.compute_instance_slices,
                         .multiprocessors = mig.multiprocessors,
                         .engines = {.copy = mig.copy_engines,
                                     .decoder = mig.decoders,
                                     .encoder = mig.encoders,
                                     .jpeg = mig.jpeg_engines,
                                     .ofa = mig.ofa_engines},
                         .memory = MebiBytes(mig.memory_mib)};
  }
  if (Has(mig, MigField::kInstanceInfo)) {
    report.profile_id = mig.profile_id;
    report.placement_start = mig.placement_start;
  }
  report.fault = FirstFault(mig.results);
  return report;
}

StatusOr<NvLinkReport> DecodeNvLinks(std::span<const std::byte> payload) {
  ASSIGN_OR_RETURN(const auto set, Read<NvLinkPayload>(payload, "NVLinks"));
  if (set.count > kMaxNvLinks) {
    return InvalidArgument("probe frame: {} NVLinks exceed the limit of {}", set.count,
                           kMaxNvLinks);
  }
  NvLinkReport report;
  for (const NvLinkEntry& entry : std::span(set.links).first(set.count)) {
    if (entry.link >= kMaxNvLinks) {
      return InvalidArgument("probe frame: NVLink {} is out of range", entry.link);
    }
    device::NvLink link{.link = entry.link,
                        .is_active = entry.is_active != 0,
                        .version = entry.version,
                        .peer = LinkPeer(entry.device_type),
                        .remote = std::nullopt};
    if (entry.has_remote != 0) {
      ASSIGN_OR_RETURN(link.remote, Pci(entry.remote));
    }
    report.links.push_back(link);
  }
  std::ranges::sort(report.links);
  if (const auto code = static_cast<nvml::Return>(set.bad_result); !nvml::IsBenign(code)) {
    report.fault = code;
  }
  return report;
}

StatusOr<TopologyReport> DecodeTopology(std::span<const std::byte> payload) {
  ASSIGN_OR_RETURN(const auto set, Read<TopologyPayload>(payload, "topology"));
  if (set.count > kMaxGpus) {
    return InvalidArgument("probe frame: topology of {} GPUs exceeds the limit of {}", set.count,
                           kMaxGpus);
  }
  TopologyReport report;
  for (const int16_t level : std::span(set.levels).first(set.count)) {
    report.levels.push_back(IsLevel(level) ? std::optional(static_cast<nvml::TopologyLevel>(level))
                                           : std::nullopt);
  }
  return report;
}

}  // namespace kgpu::probe
