import { Icon } from './icons.js'

type Device = { browser: string | null; system: string | null }

const phones = ['iPhone', 'iPad', 'Android']

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
