/** A cell as RFC 4180 has it, quoted only where it must be. */
export const csvCell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
