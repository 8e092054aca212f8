import { accessSync, constants, readdirSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

// Places that are often not on the PATH, newest version first where there are several.
const usualPlaces = [
  '/usr/lib/postgresql/*/bin',
  '/usr/pgsql-*/bin',
  '/opt/homebrew/opt/postgresql@*/bin',
  '/usr/local/opt/postgresql@*/bin',
  '/opt/homebrew/bin',
  '/usr/local/bin',
  '/usr/local/sbin',
  '/usr/sbin',
  '/Applications/Chromium.app/Contents/MacOS',
  '/Applications/Google Chrome.app/Contents/MacOS',
  '/Applications/Firefox.app/Contents/MacOS',
]

/** The first of these programs that is on this machine. */
export const findProgram = (...names: string[]): string | undefined => {
  const folders = [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), ...usualPlaces.flatMap(expand)]
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram)
}

/**
 * The programs that the tests start, by the names under which they are installed. `TEST_CHROMIUM=/path` and its like choose another one.
 */
const programs = {
  initdb: ['initdb'],
  pgbouncer: ['pgbouncer'],
  redis: ['redis-server', 'valkey-server'],
  nginx: ['nginx'],
  openssl: ['openssl'],
  curl: ['curl'],
  jq: ['jq'],
  psql: ['psql'],
  testssl: ['testssl', 'testssl.sh'],
  caddy: ['caddy'],
  // The first one has no windows around its pages, which take most of the time of a browser test.
  chromium: [
    'chromium-headless-shell',
    'chromium',
    'chromium-browser',
    'google-chrome-stable',
    'google-chrome',
    'Chromium',
    'Google Chrome',
  ],
  /** A screen reader needs a window. */
  windowedChromium: [
    'chromium',
    'chromium-browser',
    'google-chrome-stable',
    'google-chrome',
    'Chromium',
    'Google Chrome',
  ],
  firefox: ['firefox-esr', 'firefox'],
  promtool: ['promtool'],
  haproxy: ['haproxy'],
  oathtool: ['oathtool'],
  patroni: ['patroni'],
  patronictl: ['patronictl'],
  etcd: ['etcd'],
  buildah: ['buildah'],
  debootstrap: ['debootstrap'],
  apache2: ['apache2'],
  orca: ['orca'],
  xvfb: ['Xvfb'],
  dbus: ['dbus-run-session'],
  xdotool: ['xdotool'],
} as const
export type TestProgram = keyof typeof programs

export const findTestProgram = (name: TestProgram) =>
  process.env[`TEST_${name.toUpperCase()}`] || findProgram(...programs[name])

/** For a test, which runs only where everything was found. */
export const testProgram = (name: TestProgram) => {
  const program = findTestProgram(name)
  if (!program) throw new Error(`${name} is not on this machine`)
  return program
}

const expand = (place: string): string[] => {
  const [before = '', after] = place.split('*')
  if (after === undefined) return [place]
  const parent = before.slice(0, before.lastIndexOf('/'))
  const prefix = before.slice(parent.length + 1)
  return namesIn(parent)
    .filter((name) => name.startsWith(prefix))
    .sort((a, b) => Number.parseFloat(b.slice(prefix.length)) - Number.parseFloat(a.slice(prefix.length)))
    .map((name) => `${parent}/${name}${after}`)
}

const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
