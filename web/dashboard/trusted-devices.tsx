import { useRef } from 'preact/hooks'
import { deviceName } from '#contract/device-names.js'
import type { Factors } from '#contract/schemas.js'
import { client } from '../browser/client.js'
import { Button } from '../components/button.js'
import { DeviceIcon } from '../components/icons.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fullDate } from '../words/dates.js'
import { fill } from '../words/format.js'
import { useDashboardActions } from './dashboard-actions.js'
import { AccountPanel } from './section.js'

/** The browsers that sign in without a code. */
export const TrustedDevicesPanel = ({ devices }: { devices: Factors['trustedDevices'] }) => {
  const words = useWords('two-step')
  const dashboard = useWords('dashboard')
  const { locale } = useSettings()
  const actions = useDashboardActions()
  const remove = async (id: string) => {
    const answer = await actions.withFreshSignIn(() => client.removeTrustedDevice(id))
    if (answer.refused) return actions.showRefusal(answer)
    await actions.reload()
  }
  // Once the panel was shown it stays, because the focus would be lost with it.
  const isShown = useRef(false)
  if (devices.length > 0) isShown.current = true
  if (!isShown.current) return null
  return (
    <AccountPanel
      place="trusted-browsers"
      title={words.trusted}
      lead={devices.length > 0 ? words.trustedLead : words.noneTrusted}
      step={devices.map(({ id }) => id).join(' ')}
    >
      <ul class="row-list">
        {devices.map((device) => (
          <li key={device.id}>
            <DeviceIcon {...device} />
            <div class="row-body">
              <div class="row-text">
                <strong>{deviceName(device, dashboard)}</strong>
                <span>
                  {device.ip} · {fill(words.trustedUntil, { date: fullDate(device.expiresAt, locale) })}
                </span>
              </div>
              <Button
                label={fill(words.stopTrustingOf, { device: deviceName(device, dashboard), ip: device.ip })}
                onPress={() => remove(device.id)}
              >
                {words.stopTrusting}
              </Button>
            </div>
          </li>
        ))}
      </ul>
    </AccountPanel>
  )
}
