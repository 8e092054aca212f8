import { type ApproveDeviceParts, createApproveDevice } from './approve-device.js'
import { createRedeemDevice, type RedeemDeviceParts } from './redeem-device.js'

export type DeviceAuthorizations = ReturnType<typeof createDeviceAuthorizations>

/** Applications on devices without a browser: a user lets one in, and it gets its tokens. */
export const createDeviceAuthorizations = (parts: ApproveDeviceParts & RedeemDeviceParts) => ({
  approve: createApproveDevice(parts),
  redeem: createRedeemDevice(parts),
})
