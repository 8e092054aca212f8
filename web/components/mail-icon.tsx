import { Icon } from './icons.js'

export const MailIcon = () => (
  <Icon size={24}>
    <rect x="2.5" y="4.5" width="15" height="11" rx="2" />
    <path d="M3 6l7 5 7-5" />
  </Icon>
)
