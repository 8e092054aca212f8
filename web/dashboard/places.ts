/**
 * The sections of the account page and their panels, in order. Each has an address, such as /dashboard#two-step, to which
 * applications and mails can link: packages/client/README.md lists them, so a name must not change.
 */
export const panelsOfSections = {
  profile: ['names', 'email', 'language', 'details'],
  'signing-in': ['password', 'passkeys', 'two-step', 'providers'],
  devices: ['sessions', 'trusted-browsers', 'applications', 'activity'],
  data: ['export', 'delete'],
} as const

export type SectionName = keyof typeof panelsOfSections
export type PanelName = (typeof panelsOfSections)[SectionName][number]

export const sectionNames = Object.keys(panelsOfSections) as SectionName[]

/** The ids to look for, the best first: an account may lack a panel, but never its section. */
export const placeIds = (fragment: string): string[] => {
  const name = fragment.replace(/^#/, '')
  const section = sectionNames.find((each) => each === name || panelsOfSections[each].some((panel) => panel === name))
  return section === undefined ? [] : [name, section]
}
