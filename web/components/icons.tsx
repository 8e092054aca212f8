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
