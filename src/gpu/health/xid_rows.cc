#include "src/gpu/health/xid_rows.h"

#include <array>

namespace kgpu::health {
namespace {

using enum FaultClass;
using enum Action;

// The text for several codes.
constexpr std::string_view kPushBuffer =
    "a program's commands were corrupted: restart the program, check its CUDA version if it recurs";
constexpr std::string_view kUnused =
    "a code that current drivers do not send: read dmesg and ask the vendor of the GPU";
constexpr std::string_view kDisplay =
    "an error of the display engine, which compute does not use: nothing to do";
constexpr std::string_view kVideo = "a program's video processing failed: restart the program";
constexpr std::string_view kMicroController =
    "an error of one of the GPU's microcontrollers: reset the GPU";
constexpr std::string_view kCopyEngine =
    "a copy engine failed in a program: restart it, reset the GPU if it recurs";
constexpr std::string_view kDecoder =
    "a video decoder failed in a program: restart it, reset the GPU if it recurs";
constexpr std::string_view kEncoder =
    "a video encoder failed in a program: restart it, reset the GPU if it recurs";
constexpr std::string_view kJpeg =
    "a JPEG engine failed in a program: restart it, reset the GPU if it recurs";
constexpr std::string_view kOpticalFlow =
    "the optical flow engine failed in a program: restart it, reset the GPU if it recurs";
constexpr std::string_view kDla =
    "the deep learning accelerator failed in a program: restart the program";

constexpr std::array kRows = {
    XidRow{1, 4, kApplication, kRestartApp, false, kPushBuffer},
    XidRow{5, 5, kOther, kResetGpu, true, kUnused},
    XidRow{6, 7, kApplication, kRestartApp, false, kPushBuffer},
    XidRow{8, 8, kApplication, kRestartApp, false,
           "the GPU stopped processing a program: restart the program"},
    XidRow{9, 9, kDriver, kRestartApp, false,
           "the driver programmed the GPU incorrectly: restart the program, update the driver if "
           "it recurs"},
    XidRow{10, 10, kOther, kResetGpu, true, kUnused},
    XidRow{11, 11, kApplication, kRestartApp, false, kPushBuffer},
    XidRow{12, 12, kDriver, kRestartApp, false,
           "an error of a program caused a driver error: restart the program, update the driver if "
           "it recurs"},
    XidRow{13, 13, kApplication, kRestartApp, false,
           "a kernel of a program failed because of a bad address or instruction: debug the "
           "program with compute-sanitizer"},
    XidRow{14, 14, kOther, kIgnore, false, "an error injected to test the driver: nothing to do"},
    XidRow{15, 15, kOther, kResetGpu, true, kUnused},
    XidRow{16, 16, kOther, kIgnore, false, kDisplay},
    XidRow{17, 17, kOther, kResetGpu, true, kUnused},
    XidRow{18, 18, kPcie, kReboot, true,
           "the GPU cannot access the host's memory (bus mastering is off): restart the host"},
    XidRow{19, 19, kOther, kIgnore, false, kDisplay},
    XidRow{20, 22, kApplication, kRestartApp, false, kVideo},
    XidRow{23, 23, kOther, kResetGpu, true, kUnused},
    XidRow{24, 24, kDriver, kRestartApp, false,
           "waiting for a GPU semaphore timed out: restart the program"},
    XidRow{25, 25, kApplication, kRestartApp, false, kPushBuffer},
    XidRow{26, 26, kMemory, kResetGpu, true,
           "the GPU's memory did not answer in time: reset the GPU"},
    XidRow{27, 29, kApplication, kRestartApp, false, kVideo},
    XidRow{30, 30, kApplication, kRestartApp, false,
           "a program accessed a semaphore that it does not own: restart the program"},
    XidRow{31, 31, kApplication, kRestartApp, false,
           "a program accessed memory that it does not own (page fault): debug it with "
           "compute-sanitizer"},
    XidRow{32, 32, kApplication, kRestartApp, false, kPushBuffer},
    XidRow{33, 33, kFirmware, kResetGpu, true, kMicroController},
    XidRow{34, 36, kApplication, kRestartApp, false, kVideo},
    XidRow{37, 38, kFirmware, kIgnore, false,
           "the context switch firmware rejected a request: nothing to do, update the driver if "
           "programs fail"},
    XidRow{39, 41, kApplication, kRestartApp, false, kCopyEngine},
    XidRow{42, 42, kApplication, kRestartApp, false, kVideo},
    XidRow{43, 43, kApplication, kRestartApp, false,
           "a program's own error stopped its channel: check the program"},
    XidRow{44, 44, kApplication, kRestartApp, false,
           "a program failed while it was being preempted: restart the program"},
    XidRow{45, 45, kApplication, kRestartApp, false,
           "a program was stopped, mostly after another XID or when it was killed: check that XID"},
    XidRow{46, 46, kDriver, kResetGpu, true, "the GPU does not finish its work: reset the GPU"},
    XidRow{47, 47, kApplication, kRestartApp, false, kVideo},
    XidRow{48, 48, kMemory, kResetGpu, true,
           "a double-bit ECC error: drain the node and reset the GPU"},
    XidRow{49, 51, kOther, kResetGpu, true, kUnused},
    XidRow{52, 52, kThermal, kInspect, false,
           "clocks were lowered because of heat: check fans, air flow and room temperature"},
    XidRow{53, 53, kThermal, kInspect, false,
           "clocks were lowered because of heat: check fans, air flow and room temperature"},
    XidRow{54, 54, kPower, kInspect, true,
           "the power cable of the GPU is missing: check the cables"},
    XidRow{55, 55, kOther, kResetGpu, true, kUnused},
    XidRow{56, 56, kOther, kIgnore, false, kDisplay},
    XidRow{57, 57, kMemory, kReboot, true,
           "the memory interface could not be initialized: restart the host, replace the GPU if it "
           "recurs"},
    XidRow{58, 58, kMemory, kInspect, true,
           "the memory interface is unstable: reset the GPU, replace it if it recurs"},
    XidRow{59, 59, kFirmware, kResetGpu, true, kMicroController},
    XidRow{60, 60, kApplication, kRestartApp, false, kVideo},
    XidRow{61, 61, kFirmware, kResetGpu, true, kMicroController},
    XidRow{62, 62, kFirmware, kResetGpu, true,
           "the power microcontroller (PMU) halted: reset the GPU"},
    XidRow{63, 63, kMemory, kResetGpu, false,
           "a bad memory row or page is marked for replacement: reset the GPU at the next "
           "opportunity"},
    XidRow{64, 64, kMemory, kResetGpu, true,
           "a bad memory row or page could not be marked: reset the GPU, replace it if it recurs"},
    XidRow{65, 65, kApplication, kRestartApp, false, kVideo},
    XidRow{66, 67, kDriver, kIgnore, false,
           "the driver accessed a forbidden register: nothing to do, update the driver if programs "
           "fail"},
    XidRow{68, 68, kApplication, kRestartApp, false, kDecoder},
    XidRow{69, 69, kApplication, kRestartApp, false,
           "a program used the graphics engine in an unknown way: check the program and its CUDA "
           "version"},
    XidRow{70, 72, kApplication, kRestartApp, false, kCopyEngine},
    XidRow{73, 73, kApplication, kRestartApp, false, kEncoder},
    XidRow{74, 74, kNvLink, kResetGpu, true,
           "an NVLink error: reset the GPU, check the link and its other end if it recurs"},
    XidRow{75, 77, kApplication, kRestartApp, false, kCopyEngine},
    XidRow{78, 78, kDriver, kIgnore, false,
           "a virtual GPU could not be started: use matching drivers in host and guest"},
    XidRow{79, 79, kBus, kReboot, true,
           "the GPU has fallen off the bus: restart the host, then check power and seat"},
    XidRow{80, 80, kApplication, kRestartApp, false,
           "data sent to the GPU was corrupted: restart the program, check the PCIe slot if it "
           "recurs"},
    XidRow{81, 81, kOther, kIgnore, false, kDisplay},
    XidRow{82, 82, kApplication, kRestartApp, false, kJpeg},
    XidRow{83, 84, kApplication, kRestartApp, false, kDecoder},
    XidRow{85, 85, kApplication, kRestartApp, false, kCopyEngine},
    XidRow{86, 86, kApplication, kRestartApp, false, kOpticalFlow},
    XidRow{87, 87, kDriver, kIgnore, false, "a driver report about itself: nothing to do"},
    XidRow{88, 89, kApplication, kRestartApp, false, kDecoder},
    XidRow{90, 90, kMemory, kResetGpu, true, "an error of the level-2 cache: reset the GPU"},
    XidRow{91, 91, kOther, kResetGpu, true, kUnused},
    XidRow{92, 92, kMemory, kInspect, false,
           "many single-bit ECC errors, all corrected: watch it, replace the GPU if it persists"},
    XidRow{93, 93, kFirmware, kIgnore, false,
           "the InfoROM is written more often than expected: nothing to do now"},
    XidRow{94, 94, kMemory, kDrain, true,
           "a contained ECC error: stop the affected programs, reset the GPU when it is idle"},
    XidRow{95, 95, kMemory, kResetGpu, true,
           "an uncontained ECC error: drain the node and reset the GPU"},
    XidRow{96, 98, kApplication, kRestartApp, false, kDecoder},
    XidRow{99, 105, kApplication, kRestartApp, false, kJpeg},
    XidRow{106, 107, kOther, kIgnore, false,
           "a test message of the board's management controller: nothing to do"},
    XidRow{108, 108, kNvLink, kRestartApp, false,
           "a peer could not translate an address: restart the programs that use NVLink"},
    XidRow{109, 109, kApplication, kRestartApp, false,
           "a program could not be preempted in time: restart it, reset the GPU if it recurs"},
    XidRow{110, 110, kFirmware, kResetGpu, true, "a security fault: reset the GPU"},
    XidRow{111, 118, kOther, kIgnore, false, kDisplay},
    XidRow{119, 119, kFirmware, kResetGpu, true,
           "the GPU's system processor (GSP) did not answer in time: reset the GPU"},
    XidRow{120, 120, kFirmware, kResetGpu, true,
           "an error of the GPU's system processor (GSP): reset the GPU"},
    XidRow{121, 121, kNvLink, kInspect, false,
           "a corrected error of the link between CPU and GPU (C2C): watch it, have the board "
           "checked if it persists"},
    XidRow{122, 124, kFirmware, kReboot, true,
           "the board's flash memory cannot be read or written: restart the host, have the board "
           "checked if it recurs"},
    XidRow{125, 125, kFirmware, kInspect, false,
           "the InfoROM's file system is corrupted: have the board checked"},
    XidRow{126, 135, kApplication, kRestartApp, false, kCopyEngine},
    XidRow{136, 136, kNvLink, kResetGpu, true,
           "NVLink training failed: reset the GPU, check the link if it recurs"},
    XidRow{137, 137, kNvLink, kRestartApp, false,
           "an NVLink request was rejected, mostly because a program at the other end failed: "
           "restart the programs"},
    XidRow{138, 138, kApplication, kRestartApp, false, kDla},
    XidRow{139, 139, kApplication, kRestartApp, false, kOpticalFlow},
    XidRow{140, 140, kMemory, kResetGpu, true, "an unrepairable ECC error: reset the GPU"},
    XidRow{141, 141, kApplication, kRestartApp, false,
           "CUDA's fast path failed for a program: restart the program"},
    XidRow{142, 142, kApplication, kRestartApp, false, kEncoder},
    XidRow{143, 143, kDriver, kResetGpu, true,
           "the GPU could not be initialized: reset the GPU, restart the host if it recurs"},
    XidRow{144, 150, kNvLink, kResetGpu, false,
           "an NVLink error, often transient: reset the GPU when the driver requests it or reports "
           "it as fatal"},
    XidRow{151, 151, kFirmware, kReboot, true,
           "confidential computing could not rotate its keys: restart the virtual machine"},
    XidRow{152, 153, kApplication, kRestartApp, false, kDla},
    XidRow{154, 154, kDriver, kIgnore, false,
           "the driver's recovery action for the GPU has changed: see the Recovery rules"},
    XidRow{155, 155, kNvLink, kResetGpu, true, "software took an NVLink down: reset the GPU"},
    XidRow{156, 156, kMemory, kResetGpu, true,
           "a faulty part of the GPU is marked for retirement: reset the GPU"},
    XidRow{157, 157, kMemory, kInspect, false,
           "a faulty part of the GPU could not be retired: have the GPU checked"},
    XidRow{158, 158, kDriver, kResetGpu, true,
           "the GPU did not answer in time and was stopped: reset the GPU"},
    XidRow{159, 159, kPcie, kRestartApp, false,
           "an error between CPU and GPU (CHI): restart the program"},
    XidRow{160, 160, kMemory, kInspect, false,
           "a memory channel is retired: have the GPU checked at a convenient time"},
    XidRow{161, 161, kMemory, kInspect, false,
           "a memory channel could not be retired: have the GPU checked"},
    XidRow{162, 163, kPower, kIgnore, false,
           "power smoothing was switched on or off: nothing to do"},
    XidRow{164, 164, kPower, kInspect, false,
           "the power smoothing hardware is nearly worn out: plan to replace the GPU"},
    XidRow{165, 165, kPower, kInspect, false,
           "the power smoothing hardware is worn out: replace the GPU at a convenient time"},
    XidRow{166, 166, kNvLink, kResetGpu, true,
           "unencrypted traffic reached an encrypted NVLink: reset the GPU"},
    XidRow{167, 167, kPcie, kReboot, true,
           "the PCIe link did not answer in time: restart the host, check the slot if it recurs"},
    XidRow{168, 168, kMemory, kInspect, false,
           "memory was set aside because of errors while ECC is off, so less is usable: enable "
           "ECC, restart the host"},
    XidRow{169, 169, kFirmware, kResetGpu, true,
           "the security microcontroller (SEC2) halted: reset the GPU"},
    XidRow{170, 170, kNvLink, kIgnore, false, "a notice of an encrypted NVLink: nothing to do"},
    XidRow{
        171, 171, kMemory, kResetGpu, true,
        "an uncorrectable ECC error in the GPU's memory chips: drain the node and reset the GPU"},
    XidRow{172, 172, kMemory, kResetGpu, true,
           "an uncorrectable ECC error inside the GPU: drain the node and reset the GPU"},
};

}  // namespace

std::span<const XidRow> XidRows() {
  return kRows;
}

}  // namespace kgpu::health
