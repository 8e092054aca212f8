import type { Words } from '../words/catalogue.js'
import { fill } from '../words/format.js'

type Device = { device: string }

/** The service names a device in English, "Firefox on Windows"; only the words between are ours to translate. */
export const deviceName = ({ device }: Device, words: Words['dashboard']) => {
  const [browser, system] = device.split(' on ')
  if (browser !== undefined && system !== undefined) return fill(words.device, { browser, system })
  return device === '' || device === 'Unknown device' ? words.unknownDevice : device
}

/** A phone or a computer, as far as the device's name tells. */
export const DeviceIcon = ({ device }: Device) => (
  <span class="row-icon">
    <svg
      viewBox="0 0 20 20"
      width="20"
      height="20"
      fill="none"
      stroke="currentColor"
      stroke-width="1.6"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {/iphone|ipad|ios|android|mobile/i.test(device) ? (
        <>
          <rect x="5.5" y="2" width="9" height="16" rx="2" />
          <path d="M9 15.2h2" />
        </>
      ) : (
        <>
          <rect x="2.5" y="3.5" width="15" height="10" rx="1.6" />
          <path d="M7 17h6M10 13.5V17" />
        </>
      )}
    </svg>
  </span>
)
