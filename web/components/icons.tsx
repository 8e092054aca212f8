import type { ComponentChildren } from 'preact'

/** Turns pixels into `rem`, so that an icon grows with the letters beside it. */
const inRem = (pixels: number) => `${pixels / 16}rem`

export const Icon = ({ children, size = 20 }: { children: ComponentChildren; size?: number }) => (
  <svg
    viewBox="0 0 20 20"
    width={inRem(size)}
    height={inRem(size)}
    fill="none"
    stroke="currentColor"
    stroke-width="1.6"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    {children}
  </svg>
)

/** A mark of another company, in one colour. */
export const Mark = ({ path }: { path: string }) => (
  <svg class="provider-logo" viewBox="0 0 24 24" fill="currentColor" aria-hidden="true">
    <path d={path} />
  </svg>
)

export const EyeIcon = ({ crossed }: { crossed: boolean }) => (
  <Icon>
    <path d="M1.8 10S4.8 4.5 10 4.5 18.2 10 18.2 10 15.2 15.5 10 15.5 1.8 10 1.8 10Z" />
    <circle cx="10" cy="10" r="2.4" />
    {crossed && <path d="M3.5 16.500l13-13" />}
  </Icon>
)

export const AlertIcon = ({ size = 20 }: { size?: number }) => (
  <Icon size={size}>
    <circle cx="10" cy="10" r="7.6" />
    <path d="M10 6.200v4.400M10 13.700v.01" />
  </Icon>
)

export const SearchIcon = () => (
  <Icon size={16}>
    <circle cx="8.500" cy="8.500" r="5.500" />
    <path d="M12.700 12.700l4.300 4.300" />
  </Icon>
)

export const DoorIcon = () => (
  <Icon>
    <path d="M8.500 3.500h6.500v13h-6.500M3.500 10h7M8 7.500l2.500 2.500-2.500 2.500" />
  </Icon>
)

export const InfoIcon = () => (
  <Icon>
    <circle cx="10" cy="10" r="7.6" />
    <path d="M10 9.400v4.400M10 6.300v.01" />
  </Icon>
)

export const CrossIcon = ({ size = 20 }: { size?: number }) => (
  <Icon size={size}>
    <path d="M5.500 5.500l9 9M14.500 5.500l-9 9" />
  </Icon>
)

export const CheckIcon = ({ size = 20 }: { size?: number }) => (
  <Icon size={size}>
    <path d="M4.5 10.500l3.6 3.6 7.4-8" />
  </Icon>
)

export const KeyIcon = () => (
  <Icon>
    <circle cx="7" cy="10" r="3.600" />
    <path d="M10.600 10h6.400M14.500 10v2.800M17 10v2" />
  </Icon>
)

export const MailIcon = () => (
  <Icon size={24}>
    <rect x="2.5" y="4.5" width="15" height="11" rx="2" />
    <path d="M3 6l7 5 7-5" />
  </Icon>
)

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
