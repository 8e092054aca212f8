import type { Words } from '../words/catalogue.js'
import { fill } from '../words/format.js'

type Device = { browser: string | null; system: string | null }

export const deviceName = ({ browser, system }: Device, words: Words['dashboard']) =>
  browser !== null && system !== null
    ? fill(words.device, { browser, system })
    : (browser ?? system ?? words.unknownDevice)

const phones = ['iPhone', 'iPad', 'Android']

/** A phone or a computer. */
export const DeviceIcon = ({ system }: Device) => (
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
      {phones.includes(system ?? '') ? (
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
