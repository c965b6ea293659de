// What every page of ours is sent with: it may load nothing but what its policy lets in, is shown in no frame, and tells nobody where it was.

/** `policy`: what the page may load, beside nothing at all. */
export function pageHeaders(policy: readonly string[]): Record<string, string> {
  const all = ["default-src 'none'", ...policy, "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': all.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  };
}
