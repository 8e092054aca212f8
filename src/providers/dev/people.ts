/** A test user of the development providers. Ada has the same address at both, which shows how accounts are linked. */
export type Person = {
  key: string
  number: number
  login: string
  name: string
  email?: string
  emailVerified?: boolean
  subtitle: string
}

export const people: readonly Person[] = [
  {
    key: 'ada',
    number: 1001,
    login: 'ada',
    name: 'Ada Example',
    email: 'ada@example.com',
    emailVerified: true,
    subtitle: 'ada@example.com',
  },
  {
    key: 'ben',
    number: 1002,
    login: 'ben-builds',
    name: 'Ben Example',
    email: 'ben@example.com',
    emailVerified: true,
    subtitle: 'ben@example.com',
  },
  {
    key: 'zoe',
    number: 1003,
    login: 'ada-too',
    name: 'Zo\u00eb Example',
    email: 'ada@example.org',
    emailVerified: true,
    subtitle: 'ada@example.org (same username as Ada)',
  },
  { key: 'nomail', number: 1004, login: 'no-mail', name: 'No Email', subtitle: 'has no email address' },
  {
    key: 'unverified',
    number: 1005,
    login: 'not-verified',
    name: 'Not Verified',
    email: 'unverified@example.com',
    emailVerified: false,
    subtitle: 'unverified@example.com (not verified)',
  },
]

export const personByKey = (key: string | null) => people.find((person) => person.key === key)
