import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testProgram } from '../../support/servers/programs.js'
import { freePort, ownFolder, startServer } from '../../support/servers/server.js'
import { replaced } from '../../support/site/nginx.js'

const modules = '/usr/lib/apache2/modules'
const loaded = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'headers', 'auth_openidc']

const sample = fileURLToPath(new URL('../../../docs/samples/apache.conf', import.meta.url))

type Client = { id: string; secret: string; issuer: string }

/** The sample of the guide, with the addresses and secrets of this test. */
const linesOfGuide = async (origin: string, { id, secret, issuer }: Client) => {
  return replaced(await readFile(sample, 'utf8'), [
    ['https://auth.example.com/api/auth', issuer],
    ['https://intranet.example.com', origin],
    [/\bID$/gm, id],
    [/\bSECRET$/gm, secret],
    [/\bRANDOM$/gm, 'of-this-test-only'],
  ])
}

const configuration = async (folder: string, origin: string, client: Client) => `
ServerRoot ${folder}
DefaultRuntimeDir ${folder}
PidFile ${folder}/apache.pid
ErrorLog ${folder}/server.log
Listen ${new URL(origin).host}
ServerName ${origin}
User www-data
Group www-data
${loaded.map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`).join('\n')}
DocumentRoot ${folder}/site
${await linesOfGuide(origin, client)}
<Location /private>
  Header always set X-Seen-Email "expr=%{reqenv:OIDC_CLAIM_email}"
</Location>
`

/** Where Apache's mod_auth_openidc has its addresses. */
export const apacheAddresses = async () => {
  const origin = `http://127.0.0.1:${await freePort()}`
  return {
    origin,
    page: `${origin}/private/page.txt`,
    redirect: `${origin}/private/redirect`,
    backchannelLogout: `${origin}/private/redirect?logout=backchannel`,
  }
}

/** Apache as the guide has it, with one page for the members of a group. */
export const startApache = async (origin: string, client: Client) => {
  const folder = await ownFolder('apache')
  // Its workers run as another user.
  await chmod(folder, 0o755)
  await mkdir(join(folder, 'site/private'), { recursive: true })
  await writeFile(join(folder, 'site/private/page.txt'), 'for members')
  await writeFile(join(folder, 'apache.conf'), await configuration(folder, origin, client))
  return startServer({
    command: testProgram('apache2'),
    args: ['-DFOREGROUND', '-f', join(folder, 'apache.conf')],
    folder,
    ready: async () => (await fetch(origin).catch(() => undefined)) !== undefined,
    endSignal: 'SIGTERM',
  })
}
