import { Icon } from '../components/icons.js'
import type { Words } from '../words/catalogue.js'
import { fill } from '../words/format.js'

type Device = { browser: string | null; system: string | null }

/** Named by the thing itself and not by its system, which makes a difference in German. */
const namedByThing = ['iPhone', 'iPad']
const phones = [...namedByThing, 'Android']

export const deviceName = ({ browser, system }: Device, words: Words['dashboard']) => {
  if (browser === null || system === null) return browser ?? system ?? words.unknownDevice
  return fill(namedByThing.includes(system) ? words.deviceOnThing : words.device, { browser, system })
}

/** A phone or a computer. */
export const DeviceIcon = ({ system }: Device) => (
  <span class="row-icon">{phones.includes(system ?? '') ? <PhoneIcon /> : <ComputerIcon />}</span>
)

const PhoneIcon = () => (
  <Icon>
    <rect x="5.5" y="2" width="9" height="16" rx="2" />
    <path d="M9 15.2h2" />
  </Icon>
)

const ComputerIcon = () => (
  <Icon>
    <rect x="2.5" y="3.5" width="15" height="10" rx="1.6" />
    <path d="M7 17h6M10 13.5V17" />
  </Icon>
)
