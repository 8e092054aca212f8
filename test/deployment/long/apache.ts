import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { testProgram } from '../../support/servers/programs.js'
import { freePort, ownFolder, startServer } from '../../support/servers/server.js'

const modules = '/usr/lib/apache2/modules'
const loaded = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'headers', 'auth_openidc']

type Client = { id: string; secret: string; issuer: string; group: string }

const configuration = (folder: string, origin: string, { id, secret, issuer, group }: Client) => `
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
OIDCProviderMetadataURL ${issuer}/.well-known/openid-configuration
OIDCClientID ${id}
OIDCClientSecret ${secret}
OIDCRedirectURI ${origin}/private/redirect
OIDCCryptoPassphrase of-this-test-only
OIDCScope "openid email groups"
OIDCPKCEMethod S256
OIDCRemoteUserClaim sub
<Location /private>
  AuthType openid-connect
  Require claim groups:${group}
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

/** Apache with one page for the members of a group. */
export const startApache = async (origin: string, client: Client) => {
  const folder = await ownFolder('apache')
  // Its workers run as another user.
  await chmod(folder, 0o755)
  await mkdir(join(folder, 'site/private'), { recursive: true })
  await writeFile(join(folder, 'site/private/page.txt'), 'for members')
  await writeFile(join(folder, 'apache.conf'), configuration(folder, origin, client))
  return startServer({
    command: testProgram('apache2'),
    args: ['-DFOREGROUND', '-f', join(folder, 'apache.conf')],
    folder,
    ready: async () => (await fetch(origin).catch(() => undefined)) !== undefined,
    endSignal: 'SIGTERM',
  })
}
