import { isPuppeteerInstalled } from '../../support/puppeteer.js'
import { findTestProgram, type TestProgram } from '../../support/servers/programs.js'

/** Beside the programs of all tests. */
const needed: { program: TestProgram; name: string; debian: string }[] = [
  { program: 'testssl', name: 'testssl.sh', debian: 'testssl.sh' },
  { program: 'patroni', name: 'Patroni', debian: 'patroni' },
  { program: 'patronictl', name: 'patronictl', debian: 'patroni' },
  { program: 'etcd', name: 'etcd', debian: 'etcd-server' },
  { program: 'buildah', name: 'buildah', debian: 'buildah' },
  { program: 'debootstrap', name: 'debootstrap', debian: 'debootstrap' },
  { program: 'firefox', name: 'Firefox', debian: 'firefox-esr' },
  { program: 'windowedChromium', name: 'Chromium with windows', debian: 'chromium' },
  { program: 'orca', name: 'Orca', debian: 'orca' },
  { program: 'xvfb', name: 'Xvfb', debian: 'xvfb' },
  { program: 'dbus', name: 'dbus-run-session', debian: 'dbus-daemon' },
  { program: 'xdotool', name: 'xdotool', debian: 'xdotool' },
  { program: 'apache2', name: 'Apache', debian: 'libapache2-mod-auth-openidc' },
]

/** Vitest calls this once before the first test. */
export const setup = () => {
  const missing = needed.filter(({ program }) => !findTestProgram(program))
  const packages = [...new Set(missing.map(({ debian }) => debian))].join(' ')
  const names = missing.map(({ name }) => name).join(', ')
  if (missing.length > 0) console.error(`The long tests need ${names}: apt-get install ${packages} (Debian).`)
  if (!isPuppeteerInstalled()) console.error('The long tests need Puppeteer: npm ci --prefix test/support/puppeteer')
  if (missing.length > 0 || !isPuppeteerInstalled()) process.exit(1)
}
