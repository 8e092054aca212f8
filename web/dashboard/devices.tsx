import { ComputerIcon, PhoneIcon } from '../components/icons.js'
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
